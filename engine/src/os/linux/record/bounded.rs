//! Reads parts of a log from a file, which may be hostile: what takes more memory in the program than in the
//! file is counted.

use super::log::{Event, MOST_BYTES};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt::{Formatter, Result as Described};
use std::marker::PhantomData;

/// Reads a list of at most `MOST` elements.
///
/// # Errors
/// There are more, or they are damaged.
pub fn list<'de, D, C, T, const MOST: usize>(from: D) -> Result<C, D::Error>
where
    D: Deserializer<'de>,
    C: From<Vec<T>>,
    T: Deserialize<'de>,
{
    struct List<T, const MOST: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for List<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut Formatter<'_>) -> Described {
            write!(formatter, "at most {MOST} elements")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = from.next_element()? {
                if all.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                all.push(one);
            }
            Ok(all)
        }
    }
    from.deserialize_seq(List::<T, MOST>(PhantomData))
        .map(C::from)
}

/// Reads a table of at most `MOST` entries.
///
/// # Errors
/// There are more, or they are damaged.
pub fn table<'de, D, T, const MOST: usize>(from: D) -> Result<BTreeMap<usize, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Table<T, const MOST: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Table<T, MOST> {
        type Value = BTreeMap<usize, T>;

        fn expecting(&self, formatter: &mut Formatter<'_>) -> Described {
            write!(formatter, "at most {MOST} entries")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
            let mut all = BTreeMap::new();
            while let Some((key, value)) = from.next_entry()? {
                if all.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                all.insert(key, value);
            }
            Ok(all)
        }
    }
    from.deserialize_map(Table::<T, MOST>(PhantomData))
}

/// Reads the events of a log.
///
/// # Errors
/// They take more memory than a log has, or are damaged.
pub fn events<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Event>, D::Error> {
    struct Events;
    impl<'de> Visitor<'de> for Events {
        type Value = Vec<Event>;

        fn expecting(&self, formatter: &mut Formatter<'_>) -> Described {
            write!(formatter, "events of {MOST_BYTES} bytes at most")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<Event>, A::Error> {
            let mut all: Vec<Event> = Vec::new();
            let mut left = MOST_BYTES;
            while let Some(event) = from.next_element::<Event>()? {
                let rest = left.checked_sub(event.bytes());
                left = rest.ok_or_else(|| A::Error::invalid_length(all.len() + 1, &self))?;
                all.push(event);
            }
            Ok(all)
        }
    }
    from.deserialize_seq(Events)
}
