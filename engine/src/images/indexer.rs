//! Background threads that index the names of images: no request waits for them.

use crate::os::Waker;
use dwarf::Module;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Instant;

/// The indexing threads, started on first use.
#[derive(Default)]
pub struct Indexer {
    queue: Option<Sender<Arc<Module>>>,
    /// Images that were requested ([`Module::identity`]).
    requested: HashSet<u64>,
    events: Option<Receiver<IndexingEvent>>,
    /// Number of images that are not indexed yet.
    waiting: usize,
    /// The image being indexed, and since when.
    current: Option<(Arc<Module>, Instant)>,
    /// Whether the user has cancelled its indexing.
    is_cancelled: bool,
    /// The queue of the thread that searches functions, started on first use.
    searcher: Option<Sender<(Arc<Module>, Arc<str>)>>,
    searched: Option<Receiver<(u64, Arc<str>)>>,
    /// Pending searches by image and name: the image, and since when.
    searches: HashMap<(u64, Arc<str>), (Arc<Module>, Instant)>,
}

/// Messages of the indexing thread.
enum IndexingEvent {
    Began(Arc<Module>, Instant),
    Ready,
}

impl Indexer {
    /// Queues an image for indexing.
    pub fn prepare(&mut self, module: &Arc<Module>, waker: impl FnOnce() -> Waker) {
        if !self.requested.insert(module.identity()) {
            return;
        }
        if self.queue.is_none() {
            self.queue = self.start(waker());
        }
        if let Some(queue) = &self.queue {
            // The thread ends only when its queue is closed.
            let _ = queue.send(Arc::clone(module));
            self.waiting += 1;
        }
    }

    fn start(&mut self, waker: Waker) -> Option<Sender<Arc<Module>>> {
        let (queue, modules) = channel::<Arc<Module>>();
        let (sender, events) = channel();
        // A pool of low priority: a core that a request or the debuggee needs is never taken by
        // indexing.
        let threads = rayon::ThreadPoolBuilder::new()
            .thread_name(|index| format!("names {index}"))
            .start_handler(|_| crate::os::lower_thread_priority())
            .build()
            .inspect_err(|error| tracing::warn!(%error, "cannot start indexing threads"))
            .ok()?;
        let work = move || {
            for module in modules {
                let began = Instant::now();
                let _ = sender.send(IndexingEvent::Began(Arc::clone(&module), began));
                threads.install(|| module.index_names());
                tracing::info!(image = %module.path().display(), took = ?began.elapsed(), "names are indexed");
                let _ = sender.send(IndexingEvent::Ready);
                waker.wake();
            }
        };
        std::thread::Builder::new()
            .name("names".into())
            .spawn(work)
            .inspect_err(|error| tracing::warn!(%error, "cannot start an indexing thread"))
            .ok()?;
        self.events = Some(events);
        Some(queue)
    }

    /// Searches a function in an image's debug info ([`Module::find_function`]), before its index
    /// is complete.
    pub fn search(&mut self, module: &Arc<Module>, name: &Arc<str>, waker: impl FnOnce() -> Waker) {
        let key = (module.identity(), Arc::clone(name));
        if self.searches.contains_key(&key) {
            return;
        }
        if self.searcher.is_none() {
            self.searcher = self.start_searcher(waker());
        }
        if let Some(searcher) = &self.searcher {
            // The thread ends only when its queue is closed.
            let _ = searcher.send((Arc::clone(module), Arc::clone(name)));
            let search = (Arc::clone(module), Instant::now());
            self.searches.insert(key, search);
        }
    }

    /// Starts the searching thread. The program may be waiting for it: unlike indexing, it has
    /// normal priority.
    fn start_searcher(&mut self, waker: Waker) -> Option<Sender<(Arc<Module>, Arc<str>)>> {
        let (queue, jobs) = channel::<(Arc<Module>, Arc<str>)>();
        let (sender, searched) = channel();
        let work = move || {
            for (module, name) in jobs {
                let began = Instant::now();
                let found = module.find_function(&name);
                tracing::info!(image = %module.path().display(), %name, functions = found.functions.len(),
                    inlined = found.inlined.len(), took = ?began.elapsed(), "function search finished");
                let _ = sender.send((module.identity(), name));
                waker.wake();
            }
        };
        std::thread::Builder::new()
            .name("functions".into())
            .spawn(work)
            .inspect_err(|error| tracing::warn!(%error, "cannot start the function search thread"))
            .ok()?;
        self.searched = Some(searched);
        Some(queue)
    }

    /// Returns whether a function is being searched in an image ([`Module::identity`]).
    pub fn is_searching(&self, image: u64, name: &Arc<str>) -> bool {
        !self.searches.is_empty() && self.searches.contains_key(&(image, Arc::clone(name)))
    }

    /// Returns the oldest pending search.
    pub fn awaited_search(&self) -> Option<IndexingProgress> {
        let (module, began) = self.searches.values().min_by_key(|(_, began)| *began)?;
        Some(IndexingProgress {
            image: file_name(module),
            began: *began,
            units_read: 0,
            units: 0,
        })
    }

    /// Returns whether an index was completed or functions were found since the last call.
    pub fn poll_events(&mut self) -> bool {
        let waited = self.waiting + self.searches.len();
        loop {
            match self.searched.as_ref().map(Receiver::try_recv) {
                Some(Ok(key)) => drop(self.searches.remove(&key)),
                // The thread has ended unexpectedly: the program must not wait forever.
                Some(Err(TryRecvError::Disconnected)) => {
                    self.searches.clear();
                    self.searched = None;
                    self.searcher = None;
                }
                Some(Err(TryRecvError::Empty)) | None => break,
            }
        }
        for events in self.events.iter().flat_map(Receiver::try_iter) {
            match events {
                IndexingEvent::Began(module, began) => {
                    self.current = Some((module, began));
                    self.is_cancelled = false;
                }
                IndexingEvent::Ready => {
                    self.current = None;
                    self.is_cancelled = false;
                    self.waiting -= 1;
                }
            }
        }
        self.waiting + self.searches.len() < waited
    }

    /// Cancels the indexing that [`Indexer::reading`] returns: the remaining names stay unknown.
    pub fn cancel_current(&mut self) {
        if let Some((module, _)) = &self.current {
            module.cancel_indexing();
            self.is_cancelled = true;
        }
    }

    /// Returns whether the index of an image was requested.
    pub fn is_waiting_for(&self, module: &Arc<Module>) -> bool {
        self.requested.contains(&module.identity())
    }

    /// Returns the image being indexed; `None` if there is none.
    pub fn reading(&self) -> Option<IndexingProgress> {
        if self.waiting == 0 || self.is_cancelled {
            return None;
        }
        Some(match &self.current {
            Some((module, began)) => {
                let (units_read, units) = module.names_read();
                IndexingProgress {
                    image: file_name(module),
                    began: *began,
                    units_read,
                    units,
                }
            }
            None => IndexingProgress {
                image: String::new(),
                began: Instant::now(),
                units_read: 0,
                units: 0,
            },
        })
    }
}

fn file_name(module: &Module) -> String {
    let path = module.path();
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::live_backend;
    use std::fs::File;
    use std::io::Read;
    use std::path::Path;

    fn module(headers: &[u8]) -> Arc<Module> {
        Module::from_bytes(Path::new("image"), headers.to_vec()).unwrap()
    }

    #[test]
    fn image_at_a_reused_address_is_a_new_one() {
        let os = live_backend().unwrap();
        let mut indexer = Indexer::default();
        // The headers are the whole content.
        let mut headers = [0; 4096];
        let mut program = File::open("/proc/self/exe").unwrap();
        program.read_exact(&mut headers).unwrap();
        let former = module(&headers);
        let address = Arc::as_ptr(&former);
        indexer.prepare(&former, || os.waker());
        while indexer.reading().is_some() {
            indexer.poll_events();
            std::thread::yield_now();
        }
        drop(former);
        // Kept alive, so that the allocator returns different addresses.
        let mut others = Vec::new();
        while others.len() < 10_000 {
            let other = module(&headers);
            assert!(!indexer.is_waiting_for(&other));
            let is_at_address = Arc::as_ptr(&other) == address;
            others.push(other);
            if is_at_address {
                break;
            }
        }
        let other = others.last().unwrap();
        indexer.prepare(other, || os.waker());
        assert!(indexer.is_waiting_for(other));
    }
}

/// An image that is being indexed in the background.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexingProgress {
    /// Base name of its file.
    pub image: String,
    /// When that started.
    pub began: Instant,
    /// Units read so far.
    pub units_read: u32,
    /// Total number of units; 0 while unknown.
    pub units: u32,
}
