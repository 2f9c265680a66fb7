//! The children of values.

use super::access::Access;
use super::elements::ElementArray;
use super::members::{self, ClassPart};
use super::numbers::Numbers;
use super::types::DwarfTy;
use super::whole_object::WholeObject;
use super::{
    Child, ChildPath, Limits, Pointees, PointerKind, Shape, Target, Ty, Value, ValueLocation,
    present,
};
use crate::ids::error::Error;
use crate::inspect::visualize::{self, Collection, CollectionKind, Item, View, objc};
use dwarf::{Language, LoadAddr};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of references to references to follow.
const REFERENCES: usize = 16;

/// Maximum number of children per request; a length in the debuggee may be garbage.
const MAX_ELEMENTS: u64 = 1 << 20;

/// Number of elements in a batch: few enough to stay in the processor's cache until they are
/// formatted.
const BATCH_ELEMENTS: u64 = 1024;

/// Limits on the text of a key, which is the name of its entry.
const KEY: Limits = Limits {
    text: 80,
    elements: 4,
    string: 64,
    depth: 2,
    numbers: super::scalar::NumberFormat::Natural,
    addresses: true,
    pointees: Pointees::Hidden,
};

/// A selection of children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildFilter {
    /// All children.
    All,
    /// Children with names.
    Named,
    /// Children with indices or keys.
    Indexed,
}

/// The contents of a value.
pub(super) enum ChildSource {
    /// No children.
    Nothing,
    /// Bases and members of an object.
    Members(Value, Arc<DwarfTy>, Access),
    /// Members that a view defines.
    Fields(Vec<(String, Value)>),
    /// Contiguous elements.
    Elements(ElementArray),
    /// Elements of a container that are not contiguous.
    Items(Collection),
    /// The target of the pointer or reference.
    Pointee(Value),
}

/// The contents of a value, and the raw value if a view replaces it.
pub(super) struct ExpandedValue {
    pub inside: ChildSource,
    raw: Option<Value>,
}

impl ExpandedValue {
    /// Returns the number of named and of indexed children.
    fn count(&self, target: &dyn Target) -> (u64, u64) {
        let (named, indexed) = match &self.inside {
            ChildSource::Members(object, ty, _) => (count_members(target, object, ty), 0),
            ChildSource::Fields(fields) => (fields.len() as u64, 0),
            ChildSource::Elements(row) => (0, row.count),
            ChildSource::Items(all) => (0, all.len.saturating_add(u64::from(all.more))),
            ChildSource::Pointee(_) => (1, 0),
            ChildSource::Nothing => (0, 0),
        };
        (named + u64::from(self.raw.is_some()), indexed)
    }
}

fn count_members(target: &dyn Target, object: &Value, ty: &Arc<DwarfTy>) -> u64 {
    let mut named = 0;
    let _ = members::parts(target, object, ty, &mut |_, _, _| {
        named += 1;
        Ok(())
    });
    named
}

/// Returns the contents of a value, through references, boxes and views.
///
/// # Errors
/// The value cannot be read.
pub(super) fn open(target: &dyn Target, value: &Value) -> Result<ExpandedValue, Error> {
    let mut raw = None;
    let inside = inside(target, value, &mut raw)?;
    Ok(ExpandedValue { inside, raw })
}

fn inside(
    target: &dyn Target,
    value: &Value,
    raw: &mut Option<Value>,
) -> Result<ChildSource, Error> {
    let mut value = value.clone();
    let mut access = Access::direct();
    for _ in 0..REFERENCES {
        // A string that an expression has made has a text, but neither elements nor members.
        if value.made_text().is_some() {
            return Ok(ChildSource::Nothing);
        }
        let view = visualize::view(target, &value);
        // A value that its view finds invalid is shown member by member.
        let viewed = !matches!(view, None | Some(View::Invalid(_)));
        let is_whole = is_fat_pointer(&value) || matches!(value.ty, Ty::Synthetic(_));
        if viewed && !is_whole {
            raw.get_or_insert_with(|| Value {
                raw: true,
                ..value.clone()
            });
        }
        match view {
            Some(View::Text { .. } | View::Plain(_)) => return Ok(ChildSource::Nothing),
            Some(View::Sequence { at, element, len }) => {
                return Ok(ChildSource::Elements(ElementArray::in_memory(
                    at, element, len,
                )));
            }
            Some(View::Collection(collection)) => return Ok(ChildSource::Items(collection)),
            Some(View::Fields { fields, .. }) => return Ok(ChildSource::Fields(fields)),
            Some(View::Pointee(next) | View::Noted(next, _)) => {
                let seen = next.ty.clone();
                value = visualize::in_truth(target, next);
                access = Access::by_handle().seen_as(&seen, &value.ty);
                continue;
            }
            Some(View::Invalid(_)) | None => {}
        }
        match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                let next = value.pointee(target, of)?;
                if matches!(next.place, ValueLocation::Memory(LoadAddr(0), _)) {
                    return Ok(ChildSource::Nothing);
                }
                let seen = next.ty.clone();
                value = visualize::in_truth(target, next);
                access = access.seen_as(&seen, &value.ty);
            }
            Shape::Pointer(of, PointerKind::Raw) => {
                if objc::concerns(&value.ty, &of)
                    && let Some(object) = objc::Object::of(target, &value)
                {
                    match objc::view(target, &value) {
                        None if object.is_in_pointer() => return Ok(ChildSource::Nothing),
                        None => {}
                        Some(view) => {
                            raw.get_or_insert_with(|| Value {
                                raw: true,
                                ..value.clone()
                            });
                            return Ok(match view {
                                View::Collection(collection) => ChildSource::Items(collection),
                                _ => ChildSource::Nothing,
                            });
                        }
                    }
                    // `id` says nothing about what it points to.
                    if matches!(of, Ty::Void)
                        && let Some(whole) = object.described(target)
                    {
                        return Ok(ChildSource::Pointee(whole));
                    }
                }
                let of_shape = of.shape();
                if matches!(of_shape, Shape::Void | Shape::Function) || value.raw(target)? == 0 {
                    return Ok(ChildSource::Nothing);
                }
                let language = value.ty.language();
                let pointee = visualize::in_truth(target, value.pointee(target, of.clone())?);
                if let (Shape::Composite(ty), true) =
                    (&pointee.ty.shape(), language != Language::Rust)
                {
                    if ty.composite().is_some_and(|it| it.declaration) {
                        return Ok(ChildSource::Nothing);
                    }
                    if ty.visualizer().is_none() {
                        let access = Access::by_pointer().seen_as(&of, &pointee.ty);
                        return Ok(ChildSource::Members(pointee, ty.clone(), access));
                    }
                }
                return Ok(ChildSource::Pointee(pointee));
            }
            Shape::Array(array) => {
                return Ok(ChildSource::Elements(ElementArray::of_array(
                    &array,
                    value.place.clone(),
                )));
            }
            Shape::Composite(ty) => {
                return Ok(match members::active_variant(target, &value, &ty)? {
                    Some((_, payload)) => match payload.ty.shape() {
                        Shape::Composite(ty) => ChildSource::Members(payload, ty, access),
                        _ => ChildSource::Nothing,
                    },
                    None => ChildSource::Members(value, ty, access),
                });
            }
            _ => return Ok(ChildSource::Nothing),
        }
    }
    Ok(ChildSource::Nothing)
}

/// Returns whether a value is an address and a length: the raw value shows nothing more than the
/// view.
fn is_fat_pointer(value: &Value) -> bool {
    value.ty.name().starts_with('&')
}

/// Returns the number of named and of indexed children of a value; none on errors.
pub(super) fn count(target: &dyn Target, value: &Value) -> (u64, u64) {
    open(target, value).map_or((0, 0), |opened| opened.count(target))
}

/// The next children of a value.
#[derive(Debug)]
pub enum ChildBatch {
    /// Contiguous numbers.
    Numbers(Numbers),
    /// Any other children.
    Children(Vec<Child>),
}

impl ChildBatch {
    /// Returns the children as a vector.
    pub fn children(self) -> Vec<Child> {
        match self {
            ChildBatch::Numbers(numbers) => numbers.children().collect(),
            ChildBatch::Children(children) => children,
        }
    }
}

/// Returns the next of the selected children in `range`, and advances `range`: at most [`BATCH_ELEMENTS`]
/// contiguous elements, or 2^20 others.
///
/// # Errors
/// Cancelled.
pub fn next_children(
    target: &dyn Target,
    value: &Value,
    which: ChildFilter,
    range: &mut Range<u64>,
) -> Result<ChildBatch, Error> {
    if target.cancelled() {
        return Err(Error::Cancelled);
    }
    let all = range.clone();
    range.start = range.end;
    let Ok(opened) = open(target, value) else {
        return Ok(ChildBatch::Children(Vec::new()));
    };
    let ChildSource::Elements(row) = &opened.inside else {
        return children(target, opened, which, all).map(ChildBatch::Children);
    };
    let (named, indexed) = opened.count(target);
    range.end = all.end.min(named.saturating_add(indexed));
    range.start = all.start.saturating_add(BATCH_ELEMENTS).min(range.end);
    if which != ChildFilter::Named && all.start < indexed {
        let own = all.start..range.start.min(indexed);
        if let Some(numbers) = Numbers::read(target, row, own.clone()) {
            range.start = own.end;
            return Ok(ChildBatch::Numbers(numbers));
        }
    }
    let portion = all.start..range.start;
    children(target, opened, which, portion).map(ChildBatch::Children)
}

fn children(
    target: &dyn Target,
    opened: ExpandedValue,
    which: ChildFilter,
    range: Range<u64>,
) -> Result<Vec<Child>, Error> {
    let (named, indexed) = opened.count(target);
    // Members are named and elements indexed. The raw value is named, and comes after both.
    let own = match opened.inside {
        ChildSource::Elements(_) | ChildSource::Items(_) => indexed,
        _ => named - u64::from(opened.raw.is_some()),
    };
    let is_indexed = matches!(
        opened.inside,
        ChildSource::Elements(_) | ChildSource::Items(_)
    );
    let (own_range, raw_at) = match (which, is_indexed) {
        (ChildFilter::Named, true) => (0..0, Some(0)),
        (ChildFilter::Indexed, false) => (0..0, None),
        (ChildFilter::Indexed, true) => (range.clone(), None),
        _ => (range.clone(), Some(own)),
    };
    let mut children = match &opened.inside {
        _ if own_range.is_empty() => Vec::new(),
        ChildSource::Nothing => Vec::new(),
        ChildSource::Members(object, ty, access) => {
            member_children(target, object, ty, access, own_range)
        }
        ChildSource::Fields(fields) => field_children(fields, own_range),
        ChildSource::Elements(row) => element_children(target, row, own_range)?,
        ChildSource::Items(collection) => item_children(target, collection, own_range)?,
        ChildSource::Pointee(pointee) if own_range.contains(&0) => vec![Child {
            name: "*".into(),
            value: Ok(pointee.clone()),
            path: Some(ChildPath::Prefix("*".into())),
        }],
        ChildSource::Pointee(_) => Vec::new(),
    };
    if let Some(raw) = opened.raw
        && raw_at.is_some_and(|at| range.contains(&at))
    {
        children.push(Child {
            name: "[raw]".into(),
            value: Ok(raw),
            path: None,
        });
    }
    Ok(children)
}

fn field_children(fields: &[(String, Value)], range: Range<u64>) -> Vec<Child> {
    let fields = (0..).zip(fields).filter(|(index, _)| range.contains(index));
    fields
        .map(|(_, (name, value))| Child {
            name: name.clone(),
            value: Ok(value.clone()),
            path: None,
        })
        .collect()
}

fn item_children(
    target: &dyn Target,
    collection: &Collection,
    range: Range<u64>,
) -> Result<Vec<Child>, Error> {
    let end = range
        .end
        .min(range.start.saturating_add(MAX_ELEMENTS))
        .min(collection.len);
    let (items, lost) = collection.items(target, range.start..end)?;
    let mut children: Vec<Child> = (range.start..)
        .zip(items)
        .map(|(index, Item { key, value })| {
            let key = key.map(|key| (present(target, &key, &KEY).text, key));
            let reachable = match (collection.kind, &key) {
                (CollectionKind::List, _) => true,
                (CollectionKind::Set, _) => false,
                // The key's text is parsed again: it must be a whole literal.
                (CollectionKind::Map, Some((text, key))) => {
                    key.ty.is_simple() || text.starts_with('"') && !text.contains("...")
                }
                (CollectionKind::Map, None) => false,
            };
            let name = match key {
                Some((text, _)) => format!("[{text}]"),
                None => format!("[{index}]"),
            };
            Child {
                path: reachable.then_some(ChildPath::Name),
                name,
                value: Ok(value),
            }
        })
        .collect();
    let failed = |name: &str, error| Child {
        name: name.into(),
        value: Err(error),
        path: None,
    };
    if let Some(error) = lost {
        children.push(failed("<error>", error));
    } else if collection.more && range.contains(&collection.len) {
        children.extend(
            collection
                .known_len()
                .err()
                .map(|why| failed("<more>", why)),
        );
    }
    Ok(children)
}

fn member_children(
    target: &dyn Target,
    object: &Value,
    ty: &Arc<DwarfTy>,
    access: &Access,
    range: Range<u64>,
) -> Vec<Child> {
    let whole = WholeObject::read(target, object);
    let whole_ty = Ty::Dwarf(Arc::clone(ty));
    let mut children = Vec::new();
    let mut index = 0;
    let outcome = members::parts(target, object, ty, &mut |object, ty, part| {
        index += 1;
        if !range.contains(&(index - 1)) {
            return Ok(());
        }
        let path = |name: &str| match is_member_name(name) {
            true => access.member(&whole_ty, name),
            false => None,
        };
        children.push(match part {
            ClassPart::Base(base) => {
                let value = members::base(target, object, ty, base);
                let name = match &value {
                    Ok(value) => value.ty.name(),
                    Err(_) => ty.related(base.ty).name(),
                };
                Child {
                    name: name.to_string(),
                    value,
                    path: access.base(&whole_ty, &ty.related(base.ty)),
                }
            }
            ClassPart::Member(member) => {
                let name = members::shown_name(ty, &member.name);
                let value = members::member(target, object, ty, member);
                Child {
                    name: name.to_owned(),
                    value: value.map(|value| whole.fill(value)),
                    path: path(name),
                }
            }
            ClassPart::Static(member) => Child {
                name: member.name.clone(),
                value: members::static_member(target, ty, member),
                path: path(&member.name),
            },
        });
        Ok(())
    });
    if let Err(error) = outcome {
        children.push(Child {
            name: "<error>".into(),
            value: Err(error),
            path: None,
        });
    }
    children
}

fn is_member_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|char| char.is_alphanumeric() || char == '_')
}

fn element_children(
    target: &dyn Target,
    row: &ElementArray,
    range: Range<u64>,
) -> Result<Vec<Child>, Error> {
    let start = range.start.min(row.count);
    let end = range.end.clamp(start, row.count);
    let values = row.values(target, start..end)?;
    Ok((start..)
        .zip(values)
        .map(|(index, value)| {
            let name = format!("[{index}]");
            Child {
                path: Some(ChildPath::Name),
                name,
                value: Ok(value),
            }
        })
        .collect())
}
