//! Names of images, made ready on a thread of their own: a request never waits for them.

use crate::debugger::Reading;
use crate::os::Waker;
use dwarf::Module;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// The thread, once there was something for it to do.
#[derive(Default)]
pub struct Indexer {
    queue: Option<Sender<Arc<Module>>>,
    /// Images that were asked for, by their address: they stay loaded as long as we live.
    asked: HashSet<usize>,
    news: Option<Receiver<News>>,
    /// Images that are not ready yet.
    waiting: usize,
    /// The one that is being read, and since when.
    current: Option<(Arc<Module>, Instant)>,
    /// Nobody wants to wait for it any more.
    given_up: bool,
}

/// What the thread tells.
enum News {
    Began(Arc<Module>, Instant),
    Ready,
}

impl Indexer {
    /// Makes an image's names ready some time soon.
    pub fn prepare(&mut self, module: &Arc<Module>, waker: impl FnOnce() -> Waker) {
        if !self.asked.insert(Arc::as_ptr(module) as usize) {
            return;
        }
        if self.queue.is_none() {
            self.queue = self.start(waker());
        }
        if let Some(queue) = &self.queue {
            // The thread ends only with its queue.
            let _ = queue.send(Arc::clone(module));
            self.waiting += 1;
        }
    }

    fn start(&mut self, waker: Waker) -> Option<Sender<Arc<Module>>> {
        let (queue, modules) = channel::<Arc<Module>>();
        let (tell, news) = channel();
        // Threads of their own that give way to all others: what a request or the debuggee
        // needs a core for never stands behind names.
        let threads = rayon::ThreadPoolBuilder::new()
            .thread_name(|index| format!("names {index}"))
            .start_handler(|_| crate::os::give_way())
            .build()
            .inspect_err(|error| tracing::warn!(%error, "no threads for names"))
            .ok()?;
        let work = move || {
            for module in modules {
                let began = Instant::now();
                let _ = tell.send(News::Began(Arc::clone(&module), began));
                threads.install(|| module.prepare_names());
                tracing::info!(image = %module.path().display(), took = ?began.elapsed(), "names are ready");
                let _ = tell.send(News::Ready);
                waker.wake();
            }
        };
        std::thread::Builder::new()
            .name("names".into())
            .spawn(work)
            .inspect_err(|error| tracing::warn!(%error, "no thread for names"))
            .ok()?;
        self.news = Some(news);
        Some(queue)
    }

    /// Whether names became ready since the last time this was asked.
    pub fn take_news(&mut self) -> bool {
        let waited = self.waiting;
        for news in self.news.iter().flat_map(Receiver::try_iter) {
            match news {
                News::Began(module, began) => {
                    self.current = Some((module, began));
                    self.given_up = false;
                }
                News::Ready => {
                    self.current = None;
                    self.given_up = false;
                    self.waiting -= 1;
                }
            }
        }
        self.waiting < waited
    }

    /// Ends the reading that [`Indexer::reading`] tells of: the names of the rest stay unknown.
    pub fn give_up(&mut self) {
        if let Some((module, _)) = &self.current {
            module.give_up_names();
            self.given_up = true;
        }
    }

    /// Whether an image's names were asked for.
    pub fn is_waiting_for(&self, module: &Arc<Module>) -> bool {
        self.asked.contains(&(Arc::as_ptr(module) as usize))
    }

    /// The image whose names are being read; `None` once all are ready.
    pub fn reading(&self) -> Option<Reading> {
        if self.waiting == 0 || self.given_up {
            return None;
        }
        Some(match &self.current {
            Some((module, began)) => {
                let path = module.path();
                let name = path.file_name().unwrap_or(path.as_os_str());
                let (units_read, units) = module.names_read();
                Reading {
                    image: name.to_string_lossy().into_owned(),
                    began: *began,
                    units_read,
                    units,
                }
            }
            None => Reading {
                image: String::new(),
                began: Instant::now(),
                units_read: 0,
                units: 0,
            },
        })
    }
}
