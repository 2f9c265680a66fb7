//! Writes a recording to a file.

use super::super::super::copy::{Copies, CopyParent, ProcessCopy};
use super::super::log::Log;
use super::super::patches::{self, Originals};
use super::super::replay::Replay;
use super::super::scratch;
use super::super::snapshots::Snapshot;
use super::super::threads::copied::Copied;
use super::super::tracee::Tracee;
use super::capture::{Store, capture, command_of};
use super::format::{Kind, SaveError, Writer};
use super::image::Image;
use super::kept::Files;
use super::machine::Machine;
use super::pages::PageWriter;
use super::{End, Header};
use crate::ids::ThreadId;
use crate::os::recording::Saved;
use dwarf::LoadAddr;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Bytes of the log in a section.
const LOG_PART: usize = 1 << 22;
/// Files of the table in a section.
const FILES_IN_PART: usize = 64;

/// Where a recording ends.
pub enum EndPlace<'a> {
    /// Where this process is, a copy of the program with these patches of the debugger and these threads.
    Here(&'a ProcessCopy, &'a Originals, &'a [Copied]),
    /// At the last event: a replay goes there.
    LastEvent,
}

/// A stopped process: the thread to copy, the debugger's patches, and the threads of the program.
type Place<'a> = (ThreadId, &'a Originals, &'a [Copied]);

impl Snapshot {
    fn place(&self) -> Place<'_> {
        (self.copy.thread(), &self.patches, &self.threads)
    }
}

/// What was recorded.
pub struct Source<'a> {
    /// The id of the process.
    pub process: i32,
    pub log: &'a Log,
    /// Those of the program that runs now, oldest first.
    pub snapshots: &'a [&'a Snapshot],
    /// The names of threads, by their ids.
    pub names: Vec<(i32, String)>,
    pub copies: &'a Copies,
}

/// Writes a recording. Cost: the memory of the snapshots is read, about 1 ms for each 2 MB that was written to.
///
/// # Errors
/// The cause: the file cannot be written, would be larger than `limit` bytes, or the system refuses a copy.
pub fn save(
    (path, limit): (&Path, u64),
    source: Source<'_>,
    (place, end): (EndPlace<'_>, End),
) -> Result<Saved, String> {
    let saved = write((path, limit), source, (place, end));
    saved.map_err(|error| format!("{} is not written: {error}", path.display()))
}

fn write(
    (path, limit): (&Path, u64),
    source: Source<'_>,
    (place, end): (EndPlace<'_>, End),
) -> Result<Saved, SaveError> {
    let Source {
        process,
        log,
        snapshots,
        names,
        copies,
    } = source;
    let none = || SaveError::Other("there is no snapshot of the program".to_owned());
    let (first, last) = snapshots.first().zip(snapshots.last()).ok_or_else(none)?;
    let mut store = Store {
        writer: Writer::create(path, limit)?,
        pages: PageWriter::default(),
        files: Files::default(),
    };
    // Files of the log have the indices that they have in it.
    let mut taken = Vec::new();
    for (file, ranges) in log.files.iter().zip(log.mapped_of_files()) {
        taken.push(keep_file(file, &ranges, &mut store)?);
    }
    if taken.iter().enumerate().any(|(nth, index)| nth != *index) {
        return Err(SaveError::Other(
            "two mapped files have one name".to_owned(),
        ));
    }
    let packed = encode(log)?;
    let (program, arguments, environment) = command_of(first.copy.pid());
    let header = Header {
        machine: Machine::here(),
        program,
        arguments,
        environment,
        end,
        process,
        names,
        log_parts: packed.chunks(LOG_PART).count(),
    };
    let Store { writer, .. } = &mut store;
    writer.section(Kind::Header, &encode(&header)?)?;
    for part in packed.chunks(LOG_PART) {
        writer.section(Kind::Log, part)?;
    }
    drop(packed);
    add(first.place(), first.next, copies, &mut store)?;
    match place {
        EndPlace::Here(copy, patches, threads) => {
            let place = (copy.thread(), patches, threads);
            add(place, log.events.len(), copies, &mut store)?;
        }
        EndPlace::LastEvent => {
            let replay = Replay::begin(last, copies)?.at_end(log);
            let replay = replay.map_err(|error| SaveError::Other(error.to_string()))?;
            let threads = replay.threads_now()?;
            let tracee = &replay.running.tracee;
            let image = capture(tracee, (threads, log.events.len()), &mut store)?;
            write_image(&image, &mut store)?;
        }
    }
    let mut images = 2;
    for nth in order(snapshots.len()) {
        let Some(snapshot) = snapshots.get(nth) else {
            continue;
        };
        let (at, pages, files) = (
            store.writer.position(),
            store.pages.count(),
            store.files.clone(),
        );
        let added = add(snapshot.place(), snapshot.next, copies, &mut store);
        let has_room = store.writer.has_room_for(store.files.bytes());
        match added {
            Ok(()) if has_room => images += 1,
            Ok(()) | Err(SaveError::Limit(_)) => {
                store.writer.return_to(at)?;
                store.pages.forget_from(pages);
                store.files = files;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    for part in store.files.table().chunks(FILES_IN_PART) {
        store.writer.section(Kind::Files, &encode(&part)?)?;
    }
    Ok(Saved {
        bytes: store.writer.finish()?,
        images,
    })
}

fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, SaveError> {
    postcard::to_allocvec(value).map_err(|error| SaveError::Other(error.to_string()))
}

/// Adds what the program has mapped of a file. Returns its index.
fn keep_file(
    file: &File,
    ranges: &[std::ops::Range<u64>],
    store: &mut Store,
) -> Result<usize, SaveError> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = std::fs::read_link(link).map_or_else(|_| OsString::new(), |it| it.into_os_string());
    let Store {
        writer,
        pages,
        files,
    } = store;
    let mut index = files.add_range(file, path.clone(), 0..0, (pages, writer))?;
    for range in ranges {
        index = files.add_range(file, path.clone(), range.clone(), (pages, writer))?;
    }
    pages.flush(writer)?;
    Ok(index)
}

/// Adds an image of a stopped process with patches of the debugger: a copy of it has none.
fn add(
    (thread, patches, threads): Place<'_>,
    next: usize,
    copies: &Copies,
    store: &mut Store,
) -> Result<(), SaveError> {
    let at = LoadAddr(scratch::CALL);
    let copy = copies.copy_process(thread, at, CopyParent::OfCopied);
    let copy = copy.map_err(|error| io::Error::other(error.to_string()))?;
    let tracee = Tracee::new(copy.pid())?;
    patches::remove(patches, &tracee);
    let image = capture(&tracee, (threads.to_vec(), next), store)?;
    write_image(&image, store)
}

fn write_image(image: &Image, store: &mut Store) -> Result<(), SaveError> {
    store.writer.section(Kind::Image, &encode(image)?)
}

/// Returns the order in which snapshots between the first and the end are added, so that those which have
/// room are spread: the newest, then always the middle of the largest gap.
fn order(count: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    if count > 1 {
        chosen.push(count - 1);
    }
    let mut gaps = vec![(0, count.saturating_sub(1))];
    while let Some(widest) = (0..gaps.len()).max_by_key(|nth| gaps[*nth].1 - gaps[*nth].0) {
        let (low, high) = gaps.remove(widest);
        if high - low < 2 {
            break;
        }
        let middle = low + (high - low) / 2;
        chosen.push(middle);
        gaps.extend([(low, middle), (middle, high)]);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_chosen_from_everywhere() {
        assert_eq!(order(0), [0; 0]);
        assert_eq!(order(1), [0; 0]);
        assert_eq!(order(2), [1]);
        assert_eq!(order(9)[..2], [8, 4]);
        for count in 2..30 {
            let mut all = order(count);
            all.sort_unstable();
            assert_eq!(all, (1..count).collect::<Vec<_>>(), "of {count}");
        }
    }
}
