//! Data derived from the images of the process, and dropped when they change.

use super::modules::Modules;
use std::cell::Cell;

/// A cache of data derived from the images. It is empty after a change of the images: nothing has
/// to clear it.
pub(crate) struct Derived<T> {
    /// The data, and [`Modules::generation`] at which it was derived. Empty while in use: a nested
    /// use derives its data again.
    kept: Cell<Option<Box<(u64, T)>>>,
}

impl<T> Default for Derived<T> {
    fn default() -> Self {
        let kept = Cell::new(None);
        Self { kept }
    }
}

impl<T: Default> Derived<T> {
    /// Runs `act` with the data derived so far from the present images.
    pub fn with<R>(&self, modules: &Modules, act: impl FnOnce(&mut T) -> R) -> R {
        let generation = modules.generation();
        let kept = self.kept.take().filter(|kept| kept.0 == generation);
        let mut kept = kept.unwrap_or_else(|| Box::new((generation, T::default())));
        let result = act(&mut kept.1);
        self.kept.set(Some(kept));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_dropped_when_the_images_change() {
        let (mut modules, derived) = (Modules::default(), Derived::<Vec<u32>>::default());
        let add = |modules: &Modules| {
            derived.with(modules, |data| {
                data.push(1);
                data.len()
            })
        };
        assert_eq!((add(&modules), add(&modules)), (1, 2));
        modules.clear();
        assert_eq!(add(&modules), 1);
    }

    #[test]
    fn nested_use_sees_no_data_and_breaks_nothing() {
        let (modules, derived) = (Modules::default(), Derived::<Vec<u32>>::default());
        derived.with(&modules, |data| {
            data.push(1);
            derived.with(&modules, |nested| assert!(nested.is_empty()));
        });
        derived.with(&modules, |data| assert_eq!(*data, [1]));
    }
}
