//! Names of images, made ready on a thread of their own: a request never waits for them.

use crate::os::Waker;
use dwarf::Module;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

/// The thread, once there was something for it to do.
#[derive(Default)]
pub struct Indexer {
    queue: Option<Sender<Arc<Module>>>,
    /// Images that were asked for, by their address: they stay loaded as long as we live.
    asked: HashSet<usize>,
    news: Arc<AtomicBool>,
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
        }
    }

    fn start(&self, waker: Waker) -> Option<Sender<Arc<Module>>> {
        let (queue, modules) = channel::<Arc<Module>>();
        let news = Arc::clone(&self.news);
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
                let began = std::time::Instant::now();
                threads.install(|| module.prepare_names());
                tracing::info!(image = %module.path().display(), took = ?began.elapsed(), "names are ready");
                news.store(true, Ordering::Release);
                waker.wake();
            }
        };
        std::thread::Builder::new()
            .name("names".into())
            .spawn(work)
            .inspect_err(|error| tracing::warn!(%error, "no thread for names"))
            .ok()?;
        Some(queue)
    }

    /// Whether names became ready since the last time this was asked.
    pub fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::Acquire)
    }
}
