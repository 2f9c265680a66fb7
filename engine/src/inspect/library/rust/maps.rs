//! Maps and sets.

use super::rows::{contains, is_empty, len};
use super::{option_of_reference, reference};
use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::method::Parameter::{Key, Own};
use crate::inspect::library::method::{Class, Row, boolean, size};
use crate::inspect::value::{Ty, Value};
use crate::inspect::visualize::{self, rust_std};

/// Methods of maps.
pub const MAP: &[Row] = &[
    Row::new("len", &[], size, len),
    Row::new("is_empty", &[], boolean, is_empty),
    Row::new("get", &[Key], option_of_reference, get),
    Row::new("contains_key", &[Key], boolean, contains),
];

/// Methods of sets.
pub const SET: &[Row] = &[
    Row::new("len", &[], size, len),
    Row::new("is_empty", &[], boolean, is_empty),
    Row::new("get", &[Key], option_of_reference, get),
    Row::new("contains", &[Key], boolean, contains),
    Row::new("is_subset", &[Own], boolean, |it| {
        let other = other(it)?;
        let mut all = it.elements()?.all(it.target)?.into_iter();
        let is_in = |value: &Value| has(it, &other, value);
        Ok(it.truth(all.all(|item| is_in(&item.value))))
    }),
    Row::new("is_superset", &[Own], boolean, |it| {
        let own = values(it.elements()?.all(it.target)?);
        let other = other(it)?;
        Ok(it.truth(other.iter().all(|value| has(it, &own, value))))
    }),
    Row::new("is_disjoint", &[Own], boolean, |it| {
        let own = values(it.elements()?.all(it.target)?);
        let other = other(it)?;
        Ok(it.truth(!other.iter().any(|value| has(it, &own, value))))
    }),
];

/// Methods of hash tables.
pub const HASHED: &[Row] = &[Row::new("capacity", &[], size, |it| {
    // Seven eighths of the buckets are used, all but one of the smallest tables.
    let table = rust_std::struct_in(it.target, it.object, "::RawTable")?;
    let word = |name: &str| -> Result<u64, Error> {
        let member = rust_std::named_in(it.target, &table, name)?;
        visualize::word(it.target, &rust_std::innermost(it.target, member)?)
    };
    let capacity = word("items")?.wrapping_add(word("growth_left")?);
    Ok(it.number(u128::from(capacity)))
})];

/// Methods of `BTreeMap`.
pub const SORTED_MAP: &[Row] = &[
    Row::new("first_key_value", &[], option_of_pair, |it| {
        entry(it, false)
    }),
    Row::new("last_key_value", &[], option_of_pair, |it| entry(it, true)),
];

/// Methods of `BTreeSet`.
pub const SORTED_SET: &[Row] = &[
    Row::new("first", &[], option_of_reference, |it| end(it, false)),
    Row::new("last", &[], option_of_reference, |it| end(it, true)),
];

fn values(items: Vec<visualize::Item>) -> Vec<Value> {
    items.into_iter().map(|item| item.value).collect()
}

fn other(it: &Call<'_>) -> Result<Vec<Value>, Error> {
    use crate::inspect::library::elements::Elements;
    let other = Elements::of(it.target, it.argument(0)?)?;
    Ok(values(other.all(it.target)?))
}

fn has(it: &Call<'_>, values: &[Value], wanted: &Value) -> bool {
    use crate::inspect::library::compare;
    let equal = Some(std::cmp::Ordering::Equal);
    let is_it = |have: &Value| compare(it.target, have, wanted).is_ok_and(|it| it == equal);
    values.iter().any(is_it)
}

fn pair_type(class: &Class) -> Option<Ty> {
    let key = class.key()?.clone().reference();
    Some(Ty::tuple(vec![key, reference(class)?]))
}

fn option_of_pair(class: &Class) -> Option<Ty> {
    pair_type(class).map(Ty::option)
}

fn get(it: &Call<'_>) -> Result<Value, Error> {
    let found = it.elements()?.find(it.target, &it.wanted()?)?;
    let found = found.map(|value| it.reference(&value));
    it.option(found.transpose()?)
}

fn at_end(it: &Call<'_>, last: bool) -> Result<Option<visualize::Item>, Error> {
    let elements = it.elements()?;
    let index = match (elements.len()?, last) {
        (0, _) => return Ok(None),
        (len, true) => len - 1,
        (_, false) => 0,
    };
    elements.item(it.target, index).map(Some)
}

fn end(it: &Call<'_>, last: bool) -> Result<Value, Error> {
    let item = at_end(it, last)?;
    let found = item.map(|item| it.reference(&item.value));
    it.option(found.transpose()?)
}

fn entry(it: &Call<'_>, last: bool) -> Result<Value, Error> {
    let Some(item) = at_end(it, last)? else {
        return it.option(None);
    };
    let key = item.key.ok_or_else(|| it.unreadable())?;
    let pair = pair_type(it.class).ok_or_else(|| it.unreadable())?;
    let mut bytes = it.reference(&key)?.bytes(it.target)?.to_vec();
    bytes.extend_from_slice(&it.reference(&item.value)?.bytes(it.target)?);
    it.option(Some(Value::of_bytes(pair, &bytes)))
}
