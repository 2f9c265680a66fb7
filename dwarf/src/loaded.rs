//! Whether an image is the one in memory: files are replaced while their programs run.

use crate::addr::LoadBias;
use crate::memory::Memory;
use crate::module::Module;

/// The headers of an image, and the notes and symbols behind them.
const LOOKED_AT: usize = 4096;
/// Fields of the ELF header that tell of sections, which `strip` and `objcopy` change in a file
/// that is otherwise the same: `e_shoff`, and from `e_shentsize` to the end.
const OF_SECTIONS: [std::ops::Range<usize>; 2] = [40..48, 58..64];

impl Module {
    /// Whether the image's first bytes, with its headers and as a rule its build-id, are those
    /// in memory. What cannot be read speaks for it.
    pub fn is_loaded_at(&self, bias: LoadBias, memory: &dyn Memory) -> bool {
        let Some(first) = self.segments().first() else {
            return true;
        };
        // Code may be changed by whoever runs or traces it.
        let code = self.image.code_ranges().iter().map(|it| it.start).min();
        let size = first.file_size.min(LOOKED_AT as u64);
        let size = code.map_or(size, |code| {
            size.min(code.0.saturating_sub(first.range.start.0))
        });
        let mut ours = vec![0; size as usize];
        let mut theirs = ours.clone();
        if first.writable
            || first.file_offset != 0
            || self.read_image(first.range.start, &mut ours).is_none()
            || memory
                .read(bias.load(first.range.start), &mut theirs)
                .is_err()
        {
            return true;
        }
        for bytes in [&mut ours, &mut theirs] {
            for field in OF_SECTIONS {
                if let Some(field) = bytes.get_mut(field) {
                    field.fill(0);
                }
            }
        }
        ours == theirs
    }
}
