//! Rust's own calling convention. It is unstable, but has been like this since long before DWARF 5
//! was rustc's default: a scalar is passed as it is, a pair of scalars as two arguments, any other
//! type of up to eight bytes as an integer, and larger types by address.

use super::{Class, Passing, RegisterPart, Returning, WORD, words};
use crate::inspect::value::scalar::{Float, ScalarKind};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty};
use dwarf::{CompositeKind, Member, MemberOffset, VariantPart};

/// Maximum nesting of structs.
const NESTING: usize = 16;

/// Returns how a value is passed to a Rust function.
pub(super) fn passing(ty: &Ty) -> Passing {
    let (Some(size), Some(layout)) = (ty.size(), layout(ty, 0)) else {
        return Passing::Unknown;
    };
    match layout {
        Layout::Nothing => Passing::Registers(Vec::new()),
        Layout::One(part) => Passing::Registers(in_words(part)),
        Layout::Two(a, b) => Passing::Apart(vec![in_words(a), in_words(b)]),
        Layout::Many if size <= WORD => Passing::Registers(words(size)),
        Layout::Many => Passing::Address,
        Layout::Unclear => Passing::Unknown,
    }
}

/// Returns how a Rust function returns a value.
pub(super) fn returning(ty: &Ty) -> Returning {
    let (Some(size), Some(layout)) = (ty.size(), layout(ty, 0)) else {
        return Returning::Unknown;
    };
    match layout {
        Layout::Nothing => Returning::Registers(Vec::new()),
        Layout::One(part) => Returning::Registers(in_words(part)),
        Layout::Two(a, b) if size <= 2 * WORD => Returning::Registers(vec![a, b]),
        Layout::Many if size <= WORD => Returning::Registers(words(size)),
        // Versions of rustc differ in which of these are returned in registers.
        Layout::Many if size <= 2 * WORD && !returns_in_memory(ty) => Returning::Unknown,
        Layout::Two(..) if !returns_in_memory(ty) => Returning::Unknown,
        Layout::Unclear if size <= 2 * WORD || !returns_in_memory(ty) => Returning::Unknown,
        Layout::Two(..) | Layout::Many | Layout::Unclear => Returning::Memory,
    }
}

/// Returns the registers of a scalar, of which an integer may need two.
fn in_words(scalar: RegisterPart) -> Vec<RegisterPart> {
    match scalar.class {
        Class::Integer => words(scalar.size)
            .into_iter()
            .map(|it| it.at(scalar.offset))
            .collect(),
        _ => vec![scalar],
    }
}

/// Returns whether the compiler of a type's unit is known to return in memory what is neither of at
/// most one word, nor a scalar, nor a pair of scalars of at most two words.
fn returns_in_memory(ty: &Ty) -> bool {
    const FIRST: u32 = 95;
    let Ty::Dwarf(ty) = ty.strip() else {
        return false;
    };
    let producer = ty.module().producer_of(ty.ty.id).unwrap_or_default();
    let version = producer.split_once("rustc version 1.").map(|it| it.1);
    let minor = version.and_then(|it| it.split('.').next()?.parse::<u32>().ok());
    minor.is_some_and(|it| it >= FIRST)
}

/// The layout of a type, similar to rustc's `BackendRepr`.
enum Layout {
    Nothing,
    One(RegisterPart),
    Two(RegisterPart, RegisterPart),
    Many,
    /// One or two scalars, or many: which attributes the union in it has is not described.
    Unclear,
}

impl Layout {
    fn at(self, start: u64) -> Layout {
        match self {
            Layout::One(part) => Layout::One(part.at(start)),
            Layout::Two(a, b) => Layout::Two(a.at(start), b.at(start)),
            other => other,
        }
    }

    /// Returns whether two fields of a union may have the same layout; pointers and integers with and
    /// without a sign differ, but are passed alike.
    fn resembles(&self, other: &Layout) -> bool {
        match (self, other) {
            (Layout::One(a), Layout::One(b)) => a == b,
            (Layout::Two(a, b), Layout::Two(c, d)) => a == c && b == d,
            (Layout::Unclear, _) | (_, Layout::Unclear) => true,
            _ => false,
        }
    }
}

fn layout(ty: &Ty, depth: usize) -> Option<Layout> {
    let size = ty.size()?;
    if depth > NESTING {
        return None;
    }
    let one = |class| {
        Some(Layout::One(RegisterPart {
            offset: 0,
            size,
            class,
        }))
    };
    match ty.shape() {
        Shape::Scalar(scalar) => match scalar.kind {
            ScalarKind::Float(Float::Single | Float::Double) => one(Class::Vector),
            ScalarKind::Float(_) | ScalarKind::Complex(_) => None,
            _ => one(Class::Integer),
        },
        Shape::Pointer(..) | Shape::Enumeration(_) => one(Class::Integer),
        Shape::Unit | Shape::Void => Some(Layout::Nothing),
        Shape::Array(_) if size == 0 => Some(Layout::Nothing),
        Shape::Array(_) => Some(Layout::Many),
        Shape::Composite(ty) => {
            let composite = ty.composite()?;
            if composite.declaration {
                return None;
            }
            if composite.kind == CompositeKind::Union {
                return of_union(&ty, &composite.members, depth);
            }
            match &composite.variants {
                Some(variants) => of_enum(&ty, variants, size, depth),
                None => Some(joined(fields(&ty, &composite.members, depth)?, Some(size))),
            }
        }
        _ => None,
    }
}

/// Returns the layout of a union: that of its fields if all have the same, unless it is `repr(C)` or
/// packed, which the debug info does not tell. `MaybeUninit` is neither.
fn of_union(ty: &DwarfTy, members: &[Member], depth: usize) -> Option<Layout> {
    let mut fields = fields(ty, members, depth)?.into_iter();
    let Some(first) = fields.next() else {
        return Some(Layout::Nothing);
    };
    let is_one = fields.all(|it| it.resembles(&first));
    Some(match first {
        Layout::Many => Layout::Many,
        _ if !is_one => Layout::Many,
        _ if ty
            .ty
            .name
            .starts_with("core::mem::maybe_uninit::MaybeUninit<") =>
        {
            first
        }
        _ => Layout::Unclear,
    })
}

/// Returns the layouts of the fields of nonzero size, by offset.
fn fields(ty: &DwarfTy, members: &[Member], depth: usize) -> Option<Vec<Layout>> {
    let mut fields = Vec::new();
    for member in members {
        let MemberOffset::Bytes(offset) = member.offset else {
            return None;
        };
        match layout(&ty.related(member.ty), depth + 1)? {
            Layout::Nothing => {}
            other => fields.push(other.at(offset)),
        }
    }
    Some(fields)
}

/// Combines the layouts of fields, in a struct of `size` bytes if that matters.
fn joined(fields: Vec<Layout>, size: Option<u64>) -> Layout {
    if fields.iter().any(|it| matches!(it, Layout::Unclear)) {
        return Layout::Unclear;
    }
    let mut fields = fields.into_iter();
    let fills = |len| size.is_none_or(|size| size == len);
    match (fields.next(), fields.next(), fields.next()) {
        (None, ..) if size.is_none_or(|size| size == 0) => Layout::Nothing,
        (Some(Layout::One(part)), None, _) if part.offset == 0 && fills(part.size) => {
            Layout::One(part)
        }
        (Some(Layout::Two(a, b)), None, _) => Layout::Two(a, b),
        (Some(Layout::One(a)), Some(Layout::One(b)), None) => {
            let (first, second) = if a.offset <= b.offset { (a, b) } else { (b, a) };
            let behind = first.size.next_multiple_of(second.size.max(1));
            let aligned = first.size.max(second.size).max(1);
            let end = (behind + second.size).next_multiple_of(aligned);
            if first.offset == 0 && second.offset == behind && fills(end) {
                Layout::Two(first, second)
            } else {
                Layout::Many
            }
        }
        _ => Layout::Many,
    }
}

fn of_enum(ty: &DwarfTy, part: &VariantPart, size: u64, depth: usize) -> Option<Layout> {
    let mut payloads = Vec::new();
    for variant in &part.variants {
        let holder = variant.members.first()?;
        let MemberOffset::Bytes(0) = holder.offset else {
            return None;
        };
        let Shape::Composite(of) = ty.related(holder.ty).shape() else {
            return None;
        };
        let fields = fields(&of, &of.composite()?.members, depth + 1)?;
        if !fields.is_empty() {
            payloads.push(fields);
        }
    }
    let Some(tag) = &part.discriminant else {
        // A single variant is laid out like a struct.
        let only = payloads.pop().unwrap_or_default();
        return Some(joined(only, Some(size)));
    };
    let MemberOffset::Bytes(offset) = tag.offset else {
        return None;
    };
    let tag = match layout(&ty.related(tag.ty), depth + 1)? {
        Layout::One(part) => part,
        _ => return None,
    };
    let within = |part: &RegisterPart| part.offset <= offset && offset < part.offset + part.size;
    let holds_tag = |layout: &Layout| match layout {
        Layout::One(part) => within(part),
        Layout::Two(a, b) => within(a) || within(b),
        Layout::Many | Layout::Unclear => true,
        Layout::Nothing => false,
    };
    let is_unclear = |it: &Layout| matches!(it, Layout::Unclear);
    if payloads.iter().flatten().any(is_unclear) {
        return Some(Layout::Unclear);
    }
    let niche = payloads.iter().flatten().any(holds_tag);
    if niche {
        // If only one variant has data, its layout is that of the enum.
        return match (payloads.pop(), payloads.is_empty()) {
            (Some(only), true) => Some(joined(only, Some(size))),
            _ => Some(Layout::Many),
        };
    }
    let mut common: Option<RegisterPart> = None;
    for fields in payloads {
        match (&fields[..], common) {
            ([Layout::One(part)], None) => common = Some(*part),
            ([Layout::One(part)], Some(before)) if *part == before => {}
            _ => return Some(Layout::Many),
        }
    }
    let tag = Layout::One(tag.at(offset));
    let all = std::iter::once(tag)
        .chain(common.map(Layout::One))
        .collect();
    Some(joined(all, Some(size)))
}

impl RegisterPart {
    fn at(self, start: u64) -> RegisterPart {
        RegisterPart {
            offset: self.offset.saturating_add(start),
            ..self
        }
    }
}
