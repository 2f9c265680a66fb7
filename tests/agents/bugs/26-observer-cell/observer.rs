//! A counter that notifies observers, which may read it.

use std::cell::RefCell;
use std::rc::Rc;

type Observer = Box<dyn Fn(u32)>;

#[derive(Default)]
struct Counter {
    value: u32,
    limit: u32,
    observers: Vec<Observer>,
}

struct Shared(Rc<RefCell<Counter>>);

impl Shared {
    fn new(limit: u32) -> Self {
        Self(Rc::new(RefCell::new(Counter { limit, ..Counter::default() })))
    }

    fn observe(&self, observer: impl Fn(u32) + 'static) {
        self.0.borrow_mut().observers.push(Box::new(observer));
    }

    fn add(&self, amount: u32) {
        let mut counter = self.0.borrow_mut();
        counter.value += amount;
        if counter.value >= counter.limit {
            let value = counter.value;
            for observer in &counter.observers {
                observer(value);
            }
        }
    }

    fn value(&self) -> u32 {
        self.0.borrow().value
    }
}

fn main() {
    let counter = Shared::new(10);
    let reader = Shared(Rc::clone(&counter.0));
    counter.observe(|value| println!("reached {value}"));
    counter.observe(move |_| println!("now {}", reader.value()));
    for amount in [2, 3, 4, 5] {
        counter.add(amount);
    }
    println!("end {}", counter.value());
}
