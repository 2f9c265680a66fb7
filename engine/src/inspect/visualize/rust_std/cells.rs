//! Cells, locks, and transparent wrappers.

use super::{
    composite, deref, innermost, is_fat, missing, named_in, number_in, only, pointer_in, tail,
};
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Target, Value, members};
use crate::inspect::visualize::{View, need};

/// A wrapper of a single member.
pub(super) fn transparent(target: &dyn Target, value: &Value) -> Result<View, Error> {
    Ok(View::Pointee(only(target, value)?))
}

/// `MaybeUninit<T>`: whether it is initialized is unknown.
pub(super) fn maybe_uninit(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let held = need(target, value, &["value"])?;
    Ok(View::Noted(held, "if initialized".into()))
}

/// `Cow<T>`: the value, and whether it is owned or borrowed.
pub(super) fn cow(target: &dyn Target, value: &Value) -> Result<View, Error> {
    match members::active_variant(target, value, &composite(value)?)? {
        Some((name, payload)) => {
            let held = only(target, &payload)?;
            // What is borrowed is behind a pointer. Text and slices are shown by theirs.
            let is_thin = matches!(held.ty.shape(), Shape::Pointer(..));
            let held = match name == "Borrowed" && is_thin {
                true => deref(target, &held)?,
                false => held,
            };
            Ok(View::Noted(held, name.to_lowercase()))
        }
        None => Err(missing("variants")),
    }
}

/// `RefCell<T>`: `borrow` counts readers, or writers if negative.
pub(super) fn ref_cell(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let borrow = number_in(target, &need(target, value, &["borrow"])?, "value")? as i64;
    let held = need(target, value, &["value"])?;
    Ok(match borrow {
        0 => View::Pointee(held),
        1 => View::Noted(held, "borrowed".into()),
        2.. => View::Noted(held, format!("borrowed {borrow} times")),
        _ => View::Noted(held, "mutably borrowed".into()),
    })
}

/// Cells that are set once. Those with an enum show their state by its variant, those with a `Once`
/// by its number.
pub(super) fn once(target: &dyn Target, value: &Value) -> Result<View, Error> {
    const EMPTY: &str = "<uninit>";
    const POISONED: &str = "<poisoned>";
    const RUNNING: &str = "<being initialized>";
    const DONE: &str = "";
    let Ok(once) = named_in(target, value, "once") else {
        let state = innermost_enum(target, value)?;
        return match members::active_variant(target, &state, &composite(&state)?)? {
            Some((name, payload)) if matches!(&*name, "Some" | "Init") => {
                Ok(View::Pointee(only(target, &payload)?))
            }
            Some((name, _)) if name == "Poisoned" => Ok(View::Plain("<poisoned>".into())),
            Some(_) => Ok(View::Plain(EMPTY.into())),
            None => Err(missing("state")),
        };
    };
    let held = ["value", "data"]
        .iter()
        .find_map(|name| members::find(target, value, name).transpose())
        .ok_or_else(|| missing("value"))??;
    let (state, meaning) = match number_in(target, &once, "state_and_queued") {
        // The bits above the lowest two are flags of waiting threads.
        Ok(state) if counts_down(value) => (state & 3, &[DONE, RUNNING, POISONED, EMPTY][..]),
        Ok(state) => (state & 3, &[EMPTY, POISONED, RUNNING, DONE][..]),
        Err(_) => (
            number_in(target, &once, "state")?,
            &[EMPTY, POISONED, RUNNING, RUNNING, DONE][..],
        ),
    };
    let meaning = usize::try_from(state).ok().and_then(|it| meaning.get(it));
    Ok(match meaning.copied() {
        Some(DONE) => View::Pointee(initialized(target, &held)?),
        Some(text) => View::Plain(text.into()),
        None => View::Invalid(format!("<invalid state {state}>")),
    })
}

/// Returns whether this release's `Once` counts down from 3 to 0 (done). Only the release shows it:
/// names and types are the same in those that count up.
fn counts_down(value: &Value) -> bool {
    const FIRST: u32 = 90;
    let minor = || {
        let ty = composite(value).ok()?;
        let producer = ty.module().producer_of(ty.ty.id)?;
        let (_, version) = producer.split_once("rustc version 1.")?;
        version.split('.').next()?.parse::<u32>().ok()
    };
    minor().is_none_or(|minor| minor >= FIRST)
}

/// Returns the value inside `UnsafeCell`s, `MaybeUninit`s and unions.
pub(crate) fn initialized(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    let mut value = value.clone();
    for _ in 0..super::NESTING {
        let Shape::Composite(ty) = value.ty.shape() else {
            return Ok(value);
        };
        let name = members::last_component(&ty.ty.name);
        let wrapper = matches!(
            name,
            "UnsafeCell" | "MaybeUninit" | "ManuallyDrop" | "MaybeDangling" | "Data"
        );
        if !wrapper {
            return Ok(value);
        }
        value = match members::find(target, &value, "value")? {
            Some(value) => value,
            None => only(target, &value)?,
        };
    }
    Ok(value)
}

/// Returns the enum inside all structs around it.
pub(super) fn innermost_enum(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    let mut value = value.clone();
    for _ in 0..super::NESTING {
        if composite(&value)?
            .composite()
            .is_some_and(|it| it.variants.is_some())
        {
            return Ok(value);
        }
        value = only(target, &value)?;
    }
    Err(missing("enum"))
}

/// `Mutex<T>` and `RwLock<T>`: `data`, with a remark if it is locked or poisoned.
pub(super) fn lock(target: &dyn Target, value: &Value) -> Result<View, Error> {
    /// Mask of the reader count in an `RwLock`'s state; all bits are set while it is locked for
    /// writing.
    const READERS: u64 = (1 << 30) - 1;
    let held = need(target, value, &["data"])?;
    let inner = need(target, value, &["inner"])?;
    let mut notes = Vec::new();
    if let Ok(futex) = number_in(target, &inner, "futex") {
        match futex {
            0 => {}
            1 | 2 => notes.push("locked".to_owned()),
            _ => notes.push(format!("invalid state {futex}")),
        }
    } else if let Ok(state) = number_in(target, &inner, "state") {
        match state & READERS {
            0 => {}
            READERS => notes.push("write-locked".to_owned()),
            1 => notes.push("read-locked".to_owned()),
            readers => notes.push(format!("read-locked {readers} times")),
        }
    }
    if let Ok(poison) = named_in(target, value, "failed")
        && innermost(target, poison)?.raw(target)? != 0
    {
        notes.push("poisoned".to_owned());
    }
    Ok(match notes.is_empty() {
        true => View::Pointee(held),
        false => View::Noted(held, notes.join(", ")),
    })
}

/// A guard: its `lock`'s data, or the target of its pointer.
pub(super) fn guard(target: &dyn Target, value: &Value) -> Result<View, Error> {
    if let Some(lock) = members::find(target, value, "lock")? {
        if let Some(metadata) = tail::metadata_of(target, &lock)? {
            let thin = ["pointer", "data_ptr"];
            let thin = thin
                .iter()
                .find_map(|it| members::find(target, &lock, it).transpose());
            let lock = deref(target, &thin.ok_or_else(|| missing("pointer"))??)?;
            return Ok(View::Pointee(tail::sized(target, lock, metadata)?.0));
        }
        let lock = deref(target, &lock)?;
        return Ok(View::Pointee(need(target, &lock, &["data"])?));
    }
    let pointer = pointer_in(target, value)?;
    match composite(&pointer) {
        Ok(ty) if is_fat(&ty) => Ok(View::Pointee(pointer)),
        _ => Ok(View::Pointee(deref(target, &pointer)?)),
    }
}
