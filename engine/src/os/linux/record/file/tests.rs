//! Files that are opened: whole ones, and damaged ones whose checksums are right.

use super::super::log::{Effect, Entry, Log, State};
use super::super::registers::Registers;
use super::super::threads::copied::Copied;
use super::super::threads::place::Place;
use super::format::{Kind, OpenError, Reader, Writer};
use super::image::{Image, KeptFile, Layout, Mapped, MappedOf};
use super::machine::Machine;
use super::opened::Opened;
use super::pages::{PAGE, Run};
use super::{End, Header};
use std::fs::File;
use std::path::Path;
use std::rc::Rc;

fn registers() -> Registers {
    postcard::from_bytes(&[0; 27]).expect("27 words")
}

fn state() -> State {
    State {
        registers: registers(),
        extended: vec![3; 900],
    }
}

/// A place where a thread was interrupted.
fn place() -> Place {
    // Registers, and no vector registers and memory.
    postcard::from_bytes(&[0; 29]).expect("a place")
}

fn log() -> Log {
    let mut log = Log::default();
    let entry = Entry::of(&registers());
    log.running = 1;
    for nth in 0..40 {
        let effect = match nth % 8 {
            4 => Effect::Preempt(Box::new(place())),
            5 => Effect::Wait,
            6 => Effect::ThreadExit {
                outputs: vec![(0x3000, vec![0; 4].into())].into(),
            },
            7 => Effect::Thread {
                thread: 4,
                outputs: vec![(0x3000, vec![4, 0, 0, 0].into())].into(),
            },
            0 => Effect::Call {
                result: nth,
                outputs: vec![(0x1000, vec![7; 100].into()), (0x9000, Box::default())].into(),
                bases: Some([1, 2]),
            },
            1 => Effect::SignalReturn(Box::new(state())),
            2 => Effect::MapFile {
                result: 0x7000,
                file: 0,
            },
            _ => Effect::TimeStamp(9),
        };
        log.push(entry, effect);
    }
    let mut records = Vec::new();
    for number in 0..3_u32 {
        records.extend(number.to_le_bytes());
        records.extend([0; 12]);
    }
    assert!(log.segments.set(4, records.into()));
    log.segments
        .add_jump(5, 0x4000, &[0x0f, 5], vec![(0x4000, [1, 2].into())]);
    log
}

fn image(next: usize) -> Image {
    let page = PAGE as u64;
    Image {
        next,
        mappings: vec![
            Mapped {
                start: page,
                end: 4 * page,
                access: 3,
                of: MappedOf::Anonymous,
            },
            Mapped {
                start: 8 * page,
                end: 9 * page,
                access: 1,
                of: MappedOf::File(0, 0),
            },
        ],
        pages: vec![Run {
            addr: page,
            first: 0,
            count: 2,
        }],
        layout: Layout {
            auxiliary: [9_u64, 0x1234, 0, 0]
                .iter()
                .flat_map(|it| it.to_le_bytes())
                .collect(),
            ..Layout::default()
        },
        thread: state(),
        mask: 5,
        threads: vec![
            Copied {
                thread: 1,
                waits: None,
                state: None,
                mask: 0,
            },
            Copied {
                thread: 2,
                waits: Some(registers()),
                state: Some(Rc::new(state())),
                mask: 1 << 9,
            },
        ],
    }
}

/// Returns the sections of a whole file, unpacked.
fn sections() -> Vec<(Kind, Vec<u8>)> {
    let encode = |image: &Image| postcard::to_allocvec(image).expect("bytes");
    let header = Header {
        machine: Machine::here(),
        program: "/a/program".into(),
        arguments: vec!["program".into(), "--an-argument".into()],
        environment: vec!["A=b".into()],
        end: End::Signal {
            number: 11,
            info: vec![1; 128],
        },
        process: 1,
        names: vec![(1, "program".to_owned())],
        log_parts: 1,
    };
    let files = vec![KeptFile {
        path: "/lib/a".into(),
        len: 6000,
        pages: vec![Run {
            addr: 0,
            first: 1,
            count: 2,
        }],
    }];
    let pages: Vec<u8> = (0..3 * PAGE).map(|at| (at / 1000) as u8).collect();
    vec![
        (Kind::Header, postcard::to_allocvec(&header).expect("bytes")),
        (Kind::Log, postcard::to_allocvec(&log()).expect("bytes")),
        (Kind::Pages, pages),
        (Kind::Image, encode(&image(0))),
        (Kind::Image, encode(&image(40))),
        (Kind::Image, encode(&image(20))),
        (Kind::Files, postcard::to_allocvec(&files).expect("bytes")),
    ]
}

fn open(folder: &Path, sections: &[(Kind, Vec<u8>)]) -> Result<(Opened, Log), OpenError> {
    let path = folder.join("recording");
    let mut writer = Writer::create(&path, 1 << 30).expect("a file");
    for (kind, raw) in sections {
        writer.section(*kind, raw).expect("room");
    }
    writer.finish().expect("a file");
    Opened::open(File::open(path).expect("it"))
}

#[test]
fn recording_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let (opened, read) = open(folder.path(), &sections()).expect("a recording");
    assert_eq!(opened.places().collect::<Vec<_>>(), [0, 20]);
    assert_eq!(opened.program(), Path::new("/a/program"));
    assert_eq!(opened.name_of_file(0), Some(Path::new("/lib/a")));
    assert_eq!(opened.auxiliary(9), Some(0x1234));
    let written = log();
    assert_eq!(read.count(), written.count());
    assert_eq!(read.bytes(), written.bytes());
    let encoded = |log: &Log| postcard::to_allocvec(log).expect("bytes");
    assert_eq!(encoded(&read), encoded(&written));
    assert_eq!(read.files[0].metadata().expect("it").len(), 6000);
}

/// Returns why a file is refused whose last image was changed.
fn refused(change: impl FnOnce(&mut Image)) -> OpenError {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sections = sections();
    let mut changed = image(20);
    change(&mut changed);
    sections[5].1 = postcard::to_allocvec(&changed).expect("bytes");
    open(folder.path(), &sections).err().expect("a refusal")
}

#[test]
fn impossible_threads_are_refused() {
    let damaged = [
        refused(|image| image.threads.clear()),
        refused(|image| image.threads[1].thread = 1),
        refused(|image| image.threads[0].thread = 0),
        refused(|image| image.threads[1].state = None),
        refused(|image| image.threads.swap(0, 1)),
        refused(|image| {
            let mut short = state();
            short.extended.pop();
            image.threads[1].state = Some(Rc::new(short));
        }),
    ];
    assert_eq!(damaged, [(); 6].map(|()| OpenError::Damaged("an image")));
    // Each takes three bytes in the file, and a hundred times as many in memory.
    let many = refused(|image| {
        let bare = |thread| Copied {
            thread,
            waits: None,
            state: None,
            mask: 0,
        };
        image.threads = (1..1_000_000).map(bare).collect();
    });
    assert_eq!(many, OpenError::Damaged("its contents"));
}

/// What takes a few bytes in the file, and many times as much in memory.
#[test]
fn small_files_take_no_large_memory() {
    let mapping = image(0).mappings[0];
    let many = refused(|image| image.mappings = vec![mapping; (1 << 20) + 1]);
    assert_eq!(many, OpenError::Damaged("its contents"));
    let folder = tempfile::tempdir().expect("a folder");
    let with = |images: usize, pages: Option<Vec<Run>>| {
        let mut changed = image(20);
        changed.mappings = vec![mapping; 1 << 20];
        let image = postcard::to_allocvec(&changed).expect("bytes");
        let mut sections = sections();
        sections.extend((0..images).map(|_| (Kind::Image, image.clone())));
        if let Some(pages) = pages {
            let file = KeptFile {
                path: "/lib/a".into(),
                len: 1 << 32,
                pages,
            };
            sections[6].1 = postcard::to_allocvec(&vec![file]).expect("bytes");
        }
        open(folder.path(), &sections).err()
    };
    let size = OpenError::Damaged("the size of the images");
    assert_eq!(with(1, None), None);
    assert_eq!(with(20, None), Some(size));
    let run = |nth: u64| Run {
        addr: nth * PAGE as u64,
        first: 1,
        count: 1,
    };
    let size = OpenError::Damaged("the size of the mapped files");
    assert_eq!(with(0, Some((0..20_000).map(run).collect())), Some(size));
}

#[test]
fn threads_change_ids_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut opened, mut log) = open(folder.path(), &sections()).expect("a recording");
    opened.swap_threads(1, 4);
    log.swap_threads(1, 4);
    assert_eq!(opened.process(), 4);
    assert_eq!(opened.take_names(), [(4, "program".to_owned())]);
    assert_eq!((log.running, log.thread_of(0)), (4, 4));
    let created = log.events.iter().find_map(|event| match event.effect {
        Effect::Thread { thread, .. } => Some(thread),
        _ => None,
    });
    assert_eq!(created, Some(1));
}

#[test]
fn recording_of_another_machine_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(open(folder.path(), &sections()).is_ok());
    let file = File::open(folder.path().join("recording")).expect("it");
    let elsewhere = Machine::here().without("ssse3");
    let refused = Opened::open_on(file, &elsewhere).err().expect("a refusal");
    let text = refused.to_string();
    assert!(
        text.starts_with("cannot be replayed here: ") && text.contains("ssse3"),
        "{text}"
    );
}

#[test]
fn each_missing_part_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = sections();
    for left_out in [0, 1, 2] {
        let mut sections = whole.clone();
        sections.remove(left_out);
        let error = open(folder.path(), &sections).err();
        let error = error.unwrap_or_else(|| panic!("without {:?}", whole[left_out].0));
        assert!(matches!(error, OpenError::Damaged(_)), "{error}");
    }
    assert!(open(folder.path(), &whole[..4]).is_err(), "no end");
}

#[test]
fn damaged_contents_are_refused_or_harmless() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = sections();
    // A generator of Knuth's; always the same numbers.
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    let mut refused = 0;
    for _ in 0..3000 {
        let mut sections = whole.clone();
        for _ in 0..=random(3) {
            let nth = random(sections.len());
            let (_, bytes) = &mut sections[nth];
            match random(4) {
                0 => bytes.truncate(random(bytes.len())),
                1 => bytes.extend(vec![0xff; random(20)]),
                2 if !bytes.is_empty() => {
                    // Lengths with all bits.
                    let at = random(bytes.len());
                    let end = (at + 9).min(bytes.len());
                    bytes[at..end].fill(0xff);
                }
                _ => {
                    if let Some(byte) = (random(bytes.len()) < bytes.len())
                        .then(|| random(bytes.len()))
                        .and_then(|at| bytes.get_mut(at))
                    {
                        *byte ^= 1 << random(8);
                    }
                }
            }
        }
        refused += usize::from(open(folder.path(), &sections).is_err());
    }
    assert!(refused > 500, "{refused} were refused");
}

#[test]
fn each_changed_byte_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(open(folder.path(), &sections()).is_ok());
    let path = folder.path().join("recording");
    let whole = std::fs::read(&path).expect("it");
    // Beyond the prologue, whose bytes say which file it is.
    for at in (20..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        std::fs::write(&path, bytes).expect("it");
        let file = File::open(&path).expect("it");
        let read = Reader::open(file).and_then(|(reader, sections)| {
            sections
                .iter()
                .try_for_each(|section| reader.read(section).map(drop))
        });
        assert!(read.is_err(), "byte {at} of {}", whole.len());
    }
}
