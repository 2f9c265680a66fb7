//! Members of structs, classes, unions and Rust's enums.

use super::location::Bits;
use super::path::{self, Lookup};
use super::types::DwarfTy;
use super::{Shape, Target, Ty, Value, ValueLocation, inhabited};
use crate::ids::error::Error;
use crate::inspect::visualize::objc;
use dwarf::{
    Bitfield, Composite, FileAddr, FrameContext, Inheritance, Member, MemberOffset, Registers,
    Variant,
};
use std::sync::Arc;

/// Maximum nesting of bases and anonymous structs.
const NESTING: usize = 24;

/// A named part of a composite, or one that contains named parts.
pub enum ClassPart<'a> {
    /// A base class.
    Base(&'a Inheritance),
    /// A data member with a name.
    Member(&'a Member),
    /// A static data member.
    Static(&'a Member),
}

/// Visitor of parts. Arguments: the object that has the part, that object's type, the part.
pub type Visit<'a> = dyn FnMut(&Value, &Arc<DwarfTy>, ClassPart<'_>) -> Result<(), Error> + 'a;

/// Returns a data member of `object`, whose type is `ty`.
///
/// # Errors
/// Its position depends on memory that cannot be read.
pub fn member(
    target: &dyn Target,
    object: &Value,
    ty: &DwarfTy,
    member: &Member,
) -> Result<Value, Error> {
    let of = ty.related(member.ty);
    if matches!(member.offset, MemberOffset::AtRuntime) {
        let place = objc::class::place_of_variable(target, object, &ty.ty.name, &member.name)?;
        let mut value = Value::new(of, place);
        value.bits = member.bits.and_then(|bits| {
            // A part of a byte, at the place of that.
            (1..=120).contains(&bits.size).then_some(Bits {
                offset: (bits.offset % 8) as u8,
                size: bits.size as u8,
            })
        });
        return Ok(value);
    }
    if let Some(Bitfield { offset, size }) = member.bits {
        let mut value = Value::new(of, object.place.offset(offset / 8));
        if size == 0 || size > 120 {
            return Err(Error::Unsupported(format!("a bit field of {size} bits")));
        }
        value.bits = Some(Bits {
            offset: (offset % 8) as u8,
            size: size as u8,
        });
        return Ok(value);
    }
    Ok(Value::new(
        of,
        place_at(target, object, ty, &member.offset)?,
    ))
}

/// Returns the part of `object` that belongs to a base class.
///
/// # Errors
/// The base is virtual, and the object cannot be read.
pub fn base(
    target: &dyn Target,
    object: &Value,
    ty: &DwarfTy,
    base: &Inheritance,
) -> Result<Value, Error> {
    let place = place_at(target, object, ty, &base.offset)?;
    Ok(Value {
        is_base: true,
        ..Value::new(ty.related(base.ty), place)
    })
}

fn place_at(
    target: &dyn Target,
    object: &Value,
    ty: &DwarfTy,
    offset: &MemberOffset,
) -> Result<ValueLocation, Error> {
    match offset {
        MemberOffset::Bytes(bytes) => Ok(object.place.offset(*bytes)),
        MemberOffset::AtRuntime => Err(Error::Unsupported("a member without a place".into())),
        MemberOffset::Expression(entry) => {
            let ValueLocation::Memory(addr, _) = object.place else {
                return Err(Error::OptimizedOut);
            };
            let addr = with_static_context(target, ty, |context| {
                ty.module().locate_member(*entry, addr, context)
            })?;
            Ok(ValueLocation::Memory(addr, None))
        }
    }
}

/// Returns a static data member, where the code of the class's image has it.
///
/// # Errors
/// It has no definition, or no location; in this thread it has no storage yet.
pub fn static_member(target: &dyn Target, ty: &DwarfTy, member: &Member) -> Result<Value, Error> {
    let module = ty.module();
    let Some(variable) = module.static_member(member) else {
        return Err(Error::OptimizedOut);
    };
    let of = ty.related(variable.ty.unwrap_or(member.ty));
    if let Some(found) = target.static_variable(of.clone(), (module, ty.bias), &variable) {
        return found;
    }
    let located = with_static_context(target, ty, |context| module.locate(&variable, context))?;
    let nowhere = crate::FrameKey {
        thread: crate::ThreadId(0),
        level: usize::MAX,
    };
    let registers = Registers::new(module.machine());
    Ok(Value::from_location(of, located, &registers, nowhere))
}

fn with_static_context<T>(
    target: &dyn Target,
    ty: &DwarfTy,
    read: impl FnOnce(&FrameContext<'_>) -> Result<T, dwarf::Error>,
) -> Result<T, Error> {
    let registers = Registers::new(ty.module().machine());
    Ok(read(&FrameContext {
        memory: target.memory(),
        registers: &registers,
        cfa: None,
        pc: FileAddr(0),
        bias: ty.bias,
        function: None,
        tls: &|_| None,
        caller: &|_| None,
        is_spilled: &|_| false,
    })?)
}

/// Visits the parts of a composite in order, with the contents of anonymous members in place of
/// those. `visit` gets the object that has the part and that object's type.
///
/// # Errors
/// Those of `visit`.
pub fn parts(
    target: &dyn Target,
    object: &Value,
    ty: &Arc<DwarfTy>,
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    parts_within(target, object, ty, 0, visit)
}

/// Returns whether a base has no members, and only bases without members.
fn is_empty(ty: &Ty, depth: usize) -> bool {
    let Shape::Composite(ty) = ty.shape() else {
        return false;
    };
    ty.composite().is_some_and(|it| {
        !it.declaration
            && it.members.is_empty()
            && it.statics.is_empty()
            && it.variants.is_none()
            && depth < NESTING
            && it
                .bases
                .iter()
                .all(|base| !base.is_virtual && is_empty(&ty.related(base.ty), depth + 1))
    })
}

fn parts_within(
    target: &dyn Target,
    object: &Value,
    ty: &Arc<DwarfTy>,
    depth: usize,
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    let Some(composite) = ty.composite() else {
        return Ok(());
    };
    for base in &composite.bases {
        if !is_empty(&ty.related(base.ty), 0) {
            visit(object, ty, ClassPart::Base(base))?;
        }
    }
    // A coroutine's argument has a slot of its own, and an earlier one that it was moved to.
    let is_coroutine = ty.ty.name.contains("_env#");
    for (index, part) in composite.members.iter().enumerate() {
        let before = &composite.members[..index];
        if is_coroutine && before.iter().any(|other| other.name == part.name) {
            continue;
        }
        if part.name.is_empty() && part.bits.is_none() && depth < NESTING {
            let inner = member(target, object, ty, part)?;
            if let Shape::Composite(inner_ty) = inner.ty.shape() {
                parts_within(target, &inner, &inner_ty, depth + 1, visit)?;
            }
            continue;
        }
        if !is_vtable_pointer(part) {
            visit(object, ty, ClassPart::Member(part))?;
        }
    }
    for part in &composite.statics {
        visit(object, ty, ClassPart::Static(part))?;
    }
    // Vtable pointers come last: users rarely need them.
    for part in composite.members.iter().filter(|it| is_vtable_pointer(it)) {
        visit(object, ty, ClassPart::Member(part))?;
    }
    Ok(())
}

/// Returns whether a member is a vtable pointer.
fn is_vtable_pointer(member: &dwarf::Member) -> bool {
    member.artificial && member.name.starts_with("_vptr")
}

/// Returns a member of a composite value by name, also in anonymous members and bases, and in the
/// active variant of a Rust enum. `None`: it has no such member.
///
/// # Errors
/// The member exists but cannot be accessed.
pub fn find(target: &dyn Target, object: &Value, name: &str) -> Result<Option<Value>, Error> {
    let Shape::Composite(ty) = object.ty.shape() else {
        return Ok(None);
    };
    // Views find most members here, for each element of a container.
    if let Some(part) = ty.composite().and_then(|it| own_member(&ty, it, name)) {
        return member(target, object, &ty, part).map(Some);
    }
    match path::find(&object.ty, name) {
        // Views take the first of several: libc++'s pairs have two members of one name.
        Lookup::Found(parts) | Lookup::Ambiguous(_, _, parts) => {
            let mut value = object.clone();
            for (part, _) in parts {
                value = part.of(target, &value)?;
            }
            Ok(Some(value))
        }
        Lookup::Absent => Ok(None),
        Lookup::Depends => match active_variant(target, object, &ty)? {
            Some((_, contents)) => find(target, &contents, name),
            None => Ok(None),
        },
    }
}

fn own_member<'a>(ty: &DwarfTy, composite: &'a Composite, name: &str) -> Option<&'a Member> {
    let mut members = composite.members.iter();
    members.find(|it| it.name == name || shown_name(ty, &it.name) == name)
}

/// Returns the message for a member that two base classes have.
pub fn ambiguous(name: &str, one: &Ty, other: &Ty) -> String {
    format!(
        "`{name}` is ambiguous: `{}` and `{}` have it; cast the object to one of them",
        one.name(),
        other.name()
    )
}

/// Returns the names of the members that [`find`] finds directly.
pub fn names(target: &dyn Target, object: &Value) -> Vec<String> {
    let mut names = Vec::new();
    let Shape::Composite(ty) = object.ty.shape() else {
        return names;
    };
    if let Ok(Some((_, payload))) = active_variant(target, object, &ty) {
        return self::names(target, &payload);
    }
    let _ = parts(target, object, &ty, &mut |_, ty, part| {
        if let ClassPart::Member(member) | ClassPart::Static(member) = part {
            names.push(shown_name(ty, &member.name).to_owned());
        }
        Ok(())
    });
    names
}

/// Returns a member's name as in the source: a tuple's index, or a closure's captured variable, to
/// which rustc (`_ref__a`) and gcc (`__a`) add a prefix.
pub fn shown_name<'a>(ty: &DwarfTy, name: &'a str) -> &'a str {
    let closure = ty.composite().is_some_and(|it| it.closure);
    let prefix = if closure { "__" } else { "_ref__" };
    let captured = || name.strip_prefix(prefix).filter(|name| !name.is_empty());
    tuple_index(name).or_else(captured).unwrap_or(name)
}

/// Returns the data member that begins at an offset of a class, including its bases.
pub fn name_at(class: &Ty, offset: u64) -> Option<String> {
    name_within(class, offset, 0)
}

fn name_within(class: &Ty, offset: u64, depth: usize) -> Option<String> {
    let Shape::Composite(ty) = class.shape() else {
        return None;
    };
    let composite = ty.composite()?;
    let member = composite.members.iter().find(|member| {
        matches!(member.offset, MemberOffset::Bytes(at) if at == offset)
            && member.bits.is_none()
            && !member.artificial
            && !member.name.is_empty()
    });
    if let Some(member) = member {
        return Some(member.name.clone());
    }
    let inside = |id, at: &MemberOffset| match at {
        MemberOffset::Bytes(at) if depth < NESTING && *at <= offset => {
            name_within(&ty.related(id), offset - at, depth + 1)
        }
        _ => None,
    };
    let unnamed = composite.members.iter().filter(|it| it.name.is_empty());
    let mut unnamed = unnamed.filter(|it| it.bits.is_none());
    let mut bases = composite.bases.iter();
    unnamed
        .find_map(|member| inside(member.ty, &member.offset))
        .or_else(|| bases.find_map(|base| inside(base.ty, &base.offset)))
}

/// Returns `0` for rustc's member name `__0`.
pub fn tuple_index(name: &str) -> Option<&str> {
    name.strip_prefix("__")
        .filter(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns whether the members are those of a tuple.
pub fn is_tuple(composite: &Composite) -> bool {
    !composite.members.is_empty()
        && composite
            .members
            .iter()
            .all(|member| tuple_index(&member.name).is_some())
}

/// Returns the last component of a path without generic arguments: `Vec` for
/// `alloc::vec::Vec<i32>`.
pub fn last_component(name: &str) -> &str {
    let end = match name.find('<') {
        Some(0) | None => name.len(),
        Some(at) => at,
    };
    let head = &name[..end];
    head.rfind("::").map_or(head, |at| &head[at + 2..])
}

/// Returns the active variant of a Rust enum: its name and its struct. `None`: the type has no
/// variants.
///
/// # Errors
/// The discriminant cannot be read, or matches no variant.
pub fn active_variant(
    target: &dyn Target,
    object: &Value,
    ty: &Arc<DwarfTy>,
) -> Result<Option<(String, Value)>, Error> {
    let Some(part) = ty.composite().and_then(|it| it.variants.as_ref()) else {
        return Ok(None);
    };
    let chosen: Option<&Variant> = match &part.discriminant {
        None => inhabited::only_variant(ty, part),
        Some(discriminant) => {
            let value = member(target, object, ty, discriminant)?;
            let bits = value.raw(target)?;
            let (size, signed) = match value.ty.shape() {
                Shape::Scalar(scalar) => (scalar.size, scalar.is_signed()),
                Shape::Enumeration(it) => (
                    it.ty.size.unwrap_or(8).min(16) as u8,
                    it.enumeration().is_some_and(|it| it.signed),
                ),
                _ => (value.ty.size().unwrap_or(8).min(16) as u8, false),
            };
            let number = super::scalar::Int::new(bits, size, signed).value();
            let other_sign = super::scalar::Int::new(bits, size, !signed).value();
            let holds = |variant: &&Variant, number: i128| {
                variant
                    .values
                    .iter()
                    .any(|(low, high)| *low <= number && number <= *high)
            };
            let all = &part.variants;
            all.iter()
                .find(|variant| holds(variant, number))
                .or_else(|| all.iter().find(|variant| holds(variant, other_sign)))
                .or_else(|| all.iter().find(|variant| variant.values.is_empty()))
                .map_or_else(
                    || {
                        Err(Error::Unsupported(format!(
                            "<invalid discriminant {number}>"
                        )))
                    },
                    |variant| Ok(Some(variant)),
                )?
        }
    };
    let Some(holder) = chosen.and_then(|variant| variant.members.first()) else {
        return Err(Error::Unsupported("<no variant>".into()));
    };
    let payload = member(target, object, ty, holder)?;
    // The variants of coroutines (`async`) are numbered; the names are those of their structs.
    if holder.name.bytes().all(|byte| byte.is_ascii_digit()) {
        let mut name = last_component(&payload.ty.name()).to_owned();
        let line = chosen.and_then(|variant| variant.line);
        if let (true, Some(line)) = (name.starts_with("Suspend"), line) {
            name.push_str(&format!(" at line {line}"));
        }
        return Ok(Some((name, payload)));
    }
    Ok(Some((holder.name.clone(), payload)))
}

/// Returns the value of an enumerator by name.
pub fn enumerator_named(ty: &Ty, name: &str) -> Option<i128> {
    let Shape::Enumeration(ty) = ty.shape() else {
        return None;
    };
    let name = name.rsplit("::").next().unwrap_or(name);
    let enumerators = &ty.enumeration()?.enumerators;
    enumerators
        .iter()
        .find(|it| it.name == name)
        .map(|it| it.value)
}
