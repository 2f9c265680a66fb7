//! A cache of names behind a lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Default)]
struct Cache {
    names: Mutex<HashMap<u32, String>>,
    loads: Mutex<u32>,
}

impl Cache {
    fn load(&self, id: u32) -> String {
        *self.loads.lock().unwrap() += 1;
        format!("user-{id}")
    }

    fn store(&self, id: u32, name: &str) {
        self.names.lock().unwrap().insert(id, name.to_owned());
    }

    fn name(&self, id: u32) -> String {
        match self.names.lock().unwrap().get(&id) {
            Some(name) => name.clone(),
            None => {
                let name = self.load(id);
                self.store(id, &name);
                name
            }
        }
    }
}

fn main() {
    let cache = Arc::new(Cache::default());
    cache.store(1, "root");
    let workers: Vec<_> = [1, 1, 7]
        .into_iter()
        .map(|id| {
            let cache = Arc::clone(&cache);
            thread::spawn(move || cache.name(id))
        })
        .collect();
    for worker in workers {
        println!("{}", worker.join().unwrap());
    }
}
