//! A recording that was opened from a file.

use super::super::super::copy::Copies;
use super::super::super::ptrace;
use super::super::log::{Log, MOST_BYTES, swapped};
use super::super::snapshots::Snapshot;
use super::end::EndProcess;
use super::format::{Kind, OpenError, Reader, Section};
use super::image::{Image, KeptFile, MOST_RUNS};
use super::kept::{self, MOST_FILES};
use super::machine::Machine;
use super::pages::PageReader;
use super::restore::build;
use super::{End, Header};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// More than the log of any recording takes in a file when it is unpacked.
const MOST_LOG: usize = MOST_BYTES + (64 << 20);
/// More images than there are snapshots.
const MOST_IMAGES: usize = 64;
/// The most memory that the tables of all images take: 512 MiB.
const MOST_OF_IMAGES: usize = 1 << 29;
/// The memory of processes that are kept of images: 2 GiB, as pages.
const MOST_PAGES: u64 = 1 << 19;

/// A recording in a file.
pub struct Opened {
    header: Header,
    /// By the order of their events; the last is where the recording ends.
    images: Vec<Image>,
    pages: PageReader,
    files: Vec<File>,
    names: Vec<PathBuf>,
    /// Processes of images, by the index of the image, and when each was used last.
    built: BTreeMap<usize, (u64, Snapshot)>,
    uses: u64,
}

impl Opened {
    /// Opens a file, with its log.
    ///
    /// # Errors
    /// It is no recording, damaged, or of another kind of machine.
    pub fn open(file: File) -> Result<(Opened, Log), OpenError> {
        Opened::open_on(file, &Machine::here())
    }

    /// Like [`Opened::open`], on a machine.
    ///
    /// # Errors
    /// As [`Opened::open`].
    pub(super) fn open_on(file: File, here: &Machine) -> Result<(Opened, Log), OpenError> {
        let (reader, sections) = Reader::open(file)?;
        let of = |kind| sections.iter().filter(move |it: &&Section| it.kind == kind);
        let header = of(Kind::Header).next();
        let header = header.ok_or(OpenError::Damaged("it has no header"))?;
        let header: Header = decode(&reader.read(header)?)?;
        if let Some(why) = header.machine.difference(here) {
            return Err(OpenError::Machine(why));
        }
        if of(Kind::Image).count() > MOST_IMAGES {
            return Err(OpenError::Damaged("a part is missing"));
        }
        let mut log = read_log(&reader, &sections, &header)?;
        let mut table: Vec<KeptFile> = Vec::new();
        for section in of(Kind::Files) {
            table.extend(decode::<Vec<KeptFile>>(&reader.read(section)?)?);
            let runs: usize = table.iter().map(|file| file.pages.len()).sum();
            if table.len() > MOST_FILES || runs > MOST_RUNS {
                return Err(OpenError::Damaged("the table of files"));
            }
        }
        let mut images = Vec::new();
        let mut left = MOST_OF_IMAGES;
        for section in of(Kind::Image) {
            let image: Image = decode(&reader.read(section)?)?;
            if image.next > log.events.len() || !image.is_possible() {
                return Err(OpenError::Damaged("an image"));
            }
            let rest = left.checked_sub(image.bytes());
            left = rest.ok_or(OpenError::Damaged("the size of the images"))?;
            images.push(image);
        }
        // The first two are the start and the end.
        match images.len() {
            0 | 1 => return Err(OpenError::Damaged("an image is missing")),
            _ => {
                let end = images.remove(1);
                images.sort_by_key(|image| image.next);
                images.push(end);
            }
        }
        let pages = PageReader::new(reader, &sections)?;
        let files = kept::open(&table, &pages)?;
        for file in &files {
            log.files.push(file.try_clone()?);
        }
        let names = table.into_iter().map(|file| PathBuf::from(file.path));
        Ok((
            Opened {
                header,
                images,
                pages,
                files,
                names: names.collect(),
                built: BTreeMap::new(),
                uses: 0,
            },
            log,
        ))
    }

    /// Returns the program's file, as it was named.
    pub fn program(&self) -> &Path {
        Path::new(&self.header.program)
    }

    /// Returns why the program is where the recording ends.
    pub fn end(&self) -> &End {
        &self.header.end
    }

    /// Returns the processor that the program was on.
    pub fn processor(&self) -> u32 {
        self.header.machine.processor
    }

    /// Returns the name that a mapped file had, by the index of its copy in memory.
    pub fn name_of_file(&self, index: usize) -> Option<&Path> {
        self.names.get(index).map(PathBuf::as_path)
    }

    /// Returns a value of the auxiliary vector of the program.
    pub fn auxiliary(&self, key: u64) -> Option<u64> {
        let vector = &self.images.last()?.layout.auxiliary;
        vector.chunks_exact(16).find_map(|pair| {
            let (name, value) = pair.split_at(8);
            let is_it = u64::from_le_bytes(name.try_into().ok()?) == key;
            is_it.then(|| value.try_into().ok().map(u64::from_le_bytes))?
        })
    }

    /// Returns the index of the next event of each image but the last.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        let before = self.images.len().saturating_sub(1);
        self.images.iter().take(before).map(|image| image.next)
    }

    /// Returns the id of the program's process.
    pub fn process(&self) -> i32 {
        self.header.process
    }

    /// Takes the names of the program's threads out, by their ids.
    pub fn take_names(&mut self) -> Vec<(i32, String)> {
        std::mem::take(&mut self.header.names)
    }

    /// Gives each of two threads the id of the other.
    pub fn swap_threads(&mut self, one: i32, other: i32) {
        let images = self.images.iter_mut();
        let of_images = images.flat_map(|it| &mut it.threads);
        let of_images = of_images.map(|it| &mut it.thread);
        let named = self.header.names.iter_mut().map(|it| &mut it.0);
        for id in of_images.chain(named).chain([&mut self.header.process]) {
            *id = swapped(*id, one, other);
        }
    }

    /// Makes a process of the image where the recording ends, with all its threads.
    ///
    /// # Errors
    /// The file is damaged, or the system refuses it.
    pub fn build_end(&self) -> Result<EndProcess, OpenError> {
        let image = self.images.last();
        let image = image.ok_or(OpenError::Damaged("an image is missing"))?;
        let first = build(image, &self.files, &self.pages)?;
        let process = EndProcess::of(image, first, self.header.process)?;
        if let Some(info) = self.header.end.info()
            && let Some((running, _)) = process.threads.get(&process.running)
        {
            ptrace::set_signal_info(running.thread(), &info);
        }
        Ok(process)
    }

    /// Returns a snapshot made of an image, by its index. The last ones that were made are kept.
    ///
    /// # Errors
    /// There is no such image, it is damaged, or the system refuses it.
    pub fn snapshot(&mut self, index: usize, copies: &Copies) -> io::Result<&Snapshot> {
        if !self.built.contains_key(&index) {
            let before = self.images.len().saturating_sub(1);
            let image = self.images.iter().take(before).nth(index);
            let image = image.ok_or_else(|| io::Error::other("there is no such snapshot"))?;
            let failed = |error: OpenError| io::Error::other(format!("the recording {error}"));
            let tracee = build(image, &self.files, &self.pages).map_err(failed)?;
            let copy = copies.adopt(tracee.pid)?;
            let snapshot = Snapshot::of_image(copy, image.threads.clone(), image.next);
            let pages = image.page_count();
            self.make_room(pages);
            self.built.insert(index, (0, snapshot));
        }
        self.uses += 1;
        let found = self.built.get_mut(&index);
        let (used, snapshot) = found.ok_or_else(|| io::Error::other("no snapshot"))?;
        *used = self.uses;
        Ok(snapshot)
    }

    /// Ends processes until another one with this number of pages can be kept, too.
    fn make_room(&mut self, wanted: u64) {
        let size = |index: usize| self.images.get(index).map_or(0, Image::page_count);
        let mut all: u64 = self.built.keys().map(|index| size(*index)).sum();
        while all + wanted > MOST_PAGES
            && let Some((index, _)) = self.built.iter().min_by_key(|(_, (used, _))| *used)
        {
            let index = *index;
            all -= self.images.get(index).map_or(0, Image::page_count);
            self.built.remove(&index);
        }
    }
}

/// Reads only the log of a recording, of any machine.
///
/// # Errors
/// It is no recording, or damaged.
pub fn log_of(file: File) -> Result<Log, OpenError> {
    let (reader, sections) = Reader::open(file)?;
    let header = sections.iter().find(|it| it.kind == Kind::Header);
    let header = header.ok_or(OpenError::Damaged("it has no header"))?;
    let header: Header = decode(&reader.read(header)?)?;
    read_log(&reader, &sections, &header)
}

fn read_log(reader: &Reader, sections: &[Section], header: &Header) -> Result<Log, OpenError> {
    let parts = || sections.iter().filter(|it| it.kind == Kind::Log);
    if parts().count() != header.log_parts {
        return Err(OpenError::Damaged("a part is missing"));
    }
    let mut bytes = Vec::new();
    for section in parts() {
        if bytes.len() + section.raw > MOST_LOG {
            return Err(OpenError::Damaged("the log is too large"));
        }
        bytes.extend(reader.read(section)?);
    }
    let mut log: Log = decode(&bytes)?;
    match log.count_again() {
        true => Ok(log),
        false => Err(OpenError::Damaged("the log")),
    }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, OpenError> {
    let decoded = postcard::take_from_bytes::<T>(bytes);
    match decoded {
        Ok((value, [])) => Ok(value),
        _ => Err(OpenError::Damaged("its contents")),
    }
}
