//! The storage of `thread_local!`.

use super::cells::{initialized, innermost_enum};
use super::{composite, innermost, missing, only, some};
use crate::ids::error::Error;
use crate::inspect::value::{Target, Value, members};
use crate::inspect::visualize::{View, need, word};

/// Returns the view of the storage: the value, or why there is none.
pub(super) fn storage(target: &dyn Target, value: &Value) -> Result<View, Error> {
    /// State of a value whose destructor has begun.
    const OVER: u64 = 2;
    let absent = |text: &str| Ok(View::Plain(text.into()));
    let destroyed = || absent("<destroyed>");
    let number = |state: Value| word(target, &innermost(target, state)?);

    // rustc 1.70.
    if let Some(state) = members::find(target, value, "dtor_state")? {
        let option = innermost_enum(target, &need(target, value, &["inner"])?)?;
        return match some(target, &option)? {
            Some(held) => Ok(View::Pointee(held)),
            None if number(state)? == OVER => destroyed(),
            None => absent("<not initialized yet>"),
        };
    }
    let state = need(target, value, &["state"])?;
    // With a constant initializer the value exists from the start. The state is that of its
    // destructor.
    if let Some(held) = members::find(target, value, "val")? {
        return match number(state)? {
            OVER => destroyed(),
            _ => Ok(View::Pointee(initialized(target, &held)?)),
        };
    }
    let state = innermost_enum(target, &state)?;
    match members::active_variant(target, &state, &composite(&state)?)? {
        Some((name, payload)) if name == "Alive" => match members::find(target, value, "value")? {
            Some(held) => Ok(View::Pointee(initialized(target, &held)?)),
            None => Ok(View::Pointee(only(target, &payload)?)),
        },
        Some((name, _)) if name == "Destroyed" => destroyed(),
        Some(_) => absent("<not initialized yet>"),
        None => Err(missing("state")),
    }
}
