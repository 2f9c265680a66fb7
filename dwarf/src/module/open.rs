//! Opening images. An image is mapped once in the life of the process, however often it is loaded.

use crate::file::debug_file::{self, DebugFile};
use crate::file::macho::Wanted;
use crate::file::mapping::{self, FileIdentity};
use crate::file::object::Image;
use crate::ids::Machine;
use crate::ids::error::Error;
use crate::module::name_index::NameTables;
use crate::module::{Module, NameAnswers};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock};

/// Modules opened so far: an image is mapped once in a session, however often it is loaded.
static OPENED: LazyLock<Mutex<FxHashMap<Opened, Arc<Module>>>> = LazyLock::new(Mutex::default);

/// A file, and which of the images in it.
type Opened = (FileIdentity, Wanted);

impl Module {
    /// Opens an image: maps it and reads only its headers.
    ///
    /// # Errors
    /// The file cannot be opened, or is not an image.
    pub fn open(path: &Path) -> Result<Arc<Module>, Error> {
        Module::open_as(path, path)
    }

    /// Opens the image for a machine in a universal Mach-O file. Of several it is the one with the
    /// UUID `uuid` (arm64 and arm64e are one machine). Other files have one image.
    ///
    /// # Errors
    /// The file cannot be opened, is not an image, or has none for the machine.
    pub fn open_for(
        path: &Path,
        machine: Machine,
        uuid: Option<[u8; 16]>,
    ) -> Result<Arc<Module>, Error> {
        let machine = Some(machine);
        Module::open_wanted(path, path, Wanted { machine, uuid })
    }

    /// Opens an image whose path is gone or refers to another file by now, by the other path
    /// `file`.
    ///
    /// # Errors
    /// The file cannot be opened, or is not an image.
    pub fn open_as(path: &Path, file: &Path) -> Result<Arc<Module>, Error> {
        Module::open_wanted(path, file, Wanted::default())
    }

    fn open_wanted(path: &Path, file: &Path, wanted: Wanted) -> Result<Arc<Module>, Error> {
        let io = |error: std::io::Error| Error::Io {
            path: file.to_owned(),
            message: error.to_string(),
        };
        let metadata = std::fs::metadata(file).map_err(io)?;
        {
            let identity = mapping::identity_of(&metadata);
            let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(module) = opened.get(&(identity, wanted))
                && module.path() == path
            {
                return Ok(module.clone());
            }
        }
        let (data, identity) = mapping::map_known(file, &metadata)?;
        let module = Arc::new(Module {
            file: Some(identity),
            ..Module::new(Image::parse_for(path, data, wanted)?)
        });
        OPENED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((identity, wanted), module.clone());
        Ok(module)
    }

    /// Returns the same image with its debug info from a given separate file (found by build-id or
    /// UUID, for example).
    /// From now on [`Module::open`] returns the new module.
    ///
    /// # Errors
    /// The file cannot be read, is of another build, or has no debug info.
    pub fn with_debug_file(&self, file: &Path) -> Result<Arc<Module>, Error> {
        let debug = debug_file::debug_file_at(file, &self.image)?;
        let image = Image::parse(&self.image.path, self.image.data)?;
        let module = Module {
            folder: self.folder.clone(),
            debug_file: OnceLock::from(DebugFile {
                image: Some(debug),
                rejected: Vec::new(),
            }),
            ..Module::new(image)
        };
        let module = Arc::new(module);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&mut Arc<Module>| known.identity == self.identity;
        if let Some(known) = opened.values_mut().find(same) {
            *known = Arc::clone(&module);
        }
        drop(opened);
        Ok(module)
    }

    /// Opens an image that is not a file (the vdso). `name` is used in messages. The bytes are kept as long as
    /// the debugger runs, equal ones once: each program that is started has the same vdso.
    ///
    /// # Errors
    /// The bytes are not an image.
    pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<Arc<Module>, Error> {
        static KEPT: Mutex<BTreeSet<&'static [u8]>> = Mutex::new(BTreeSet::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let data = match kept.get(&*bytes) {
            Some(known) => *known,
            None => {
                let data: &'static [u8] = Box::leak(bytes.into_boxed_slice());
                kept.insert(data);
                data
            }
        };
        drop(kept);
        Ok(Arc::new(Module::new(Image::parse(name, data)?)))
    }

    fn new(image: Image) -> Module {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Module {
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            image,
            folder: OnceLock::new(),
            debug_file: OnceLock::new(),
            info: OnceLock::new(),
            symbols: OnceLock::new(),
            symbol_scans: AtomicU32::new(0),
            cfi: OnceLock::new(),
            file: None,
            names: NameTables::default(),
            answers: NameAnswers::default(),
            places: RwLock::default(),
            vtables: OnceLock::new(),
            functions: RwLock::default(),
            types: RwLock::default(),
            unit_names: RwLock::default(),
            resolved: RwLock::default(),
            tables: RwLock::default(),
            changed: RwLock::default(),
            definitions: RwLock::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_equal_images_are_kept_once() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let open = || Module::from_bytes(Path::new("image"), bytes.clone()).unwrap();
        let (one, other) = (open(), open());
        assert!(std::ptr::eq(one.image.data, other.image.data));
        assert!(!Arc::ptr_eq(&one, &other));
    }
}
