//! Images in memory: whether a file is still the one that was loaded (files are replaced while
//! their programs run), and what can be read without the file.

use crate::file::macho;
use crate::ids::addr::{FileAddr, LoadAddr, LoadBias};
use crate::ids::error::Error;
use crate::ids::memory::Memory;
use crate::module::Module;
use std::path::Path;
use std::sync::Arc;

/// Bytes to compare: the headers of an image, and the notes and symbols after them.
const COMPARED_BYTES: usize = 4096;
/// Fields of the ELF header about sections, which `strip` and `objcopy` change in an otherwise
/// identical file: `e_shoff`, and from `e_shentsize` to the end.
const OF_SECTIONS: [std::ops::Range<usize>; 2] = [40..48, 58..64];

/// Maximum size in bytes of an image to read from memory.
const MAX_IMAGE_BYTES: u64 = 1 << 28;

impl Module {
    /// Reads the image at `start` from memory, for a file that cannot be opened; `path` is its
    /// name. The result suffices to unwind. Of ELF images, sections, and with them symbols, are not in
    /// memory.
    ///
    /// # Errors
    /// There is no image at `start`, or it cannot be read.
    pub fn from_memory(
        path: &Path,
        start: LoadAddr,
        memory: &dyn Memory,
    ) -> Result<Arc<Module>, Error> {
        if macho::in_memory::is_at(start, memory) {
            return Module::from_bytes(path, macho::in_memory::read(start, memory)?);
        }
        let mut headers = vec![0; COMPARED_BYTES];
        memory.read(start, &mut headers)?;
        for field in OF_SECTIONS {
            headers[field].fill(0);
        }
        let headers = Module::from_bytes(path, headers)?;
        let first = headers.load_range().start;
        // Writable segments may differ from the file by now.
        let segments = headers.segments().iter().filter(|it| !it.writable);
        let mut bytes = Vec::new();
        let mut all: u64 = 0;
        for segment in segments {
            let end = segment.file_offset.saturating_add(segment.file_size);
            all = all.saturating_add(segment.file_size);
            if all.max(end) > MAX_IMAGE_BYTES {
                return Err(Error::Limit(format!("{} is too large", path.display())));
            }
            bytes.resize(bytes.len().max(end as usize), 0);
            let place = &mut bytes[segment.file_offset as usize..end as usize];
            let distance = segment.range.start.0.wrapping_sub(first.0);
            memory.read(LoadAddr(start.0.wrapping_add(distance)), place)?;
        }
        for field in OF_SECTIONS {
            if let Some(field) = bytes.get_mut(field) {
                field.fill(0);
            }
        }
        Module::from_bytes(path, bytes)
    }

    /// Returns whether the image's first bytes, which contain its headers and usually its build-id,
    /// equal those in memory; of a Mach-O image, its UUID. Unreadable memory counts as equal.
    pub fn is_loaded_at(&self, bias: LoadBias, memory: &dyn Memory) -> bool {
        if let Some(macho) = self.image.macho() {
            // The loader changes headers of the libraries that it keeps in one cache.
            let theirs = macho::uuid_in_memory(bias.load(FileAddr(macho.start)), memory);
            return theirs.is_none()
                || theirs.as_ref().map(<[u8; 16]>::as_slice) == self.build_id();
        }
        let Some(first) = self.segments().first() else {
            return true;
        };
        // Code may be patched, by the program or by a debugger.
        let code = self.image.code_ranges().iter().map(|it| it.start).min();
        let size = first.file_size.min(COMPARED_BYTES as u64);
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
