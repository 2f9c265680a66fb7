//! Functions that a compiler has split: the calls of `f` pass its head, in `f` or where it is inlined,
//! and some go on in `f.part.0`.

use super::BoundLocation;

/// What gcc puts between a function's name and the number of its part.
const PART: &str = ".part.";

/// Leaves out the parts of functions whose head is among the places, so that a call is one hit.
/// `symbol`: the name of the code at a place; `has_inlined`: whether inlined copies are among the places.
pub(crate) fn leave_out<'name>(
    places: &mut Vec<BoundLocation>,
    has_inlined: bool,
    symbol: impl Fn(&BoundLocation) -> Option<&'name str>,
) {
    let names: Vec<Option<&str>> = places.iter().map(symbol).collect();
    let mut kept = kept(&names, has_inlined).into_iter();
    places.retain(|_| kept.next().unwrap_or(true));
}

/// Returns which places are kept, by the names of their code.
fn kept(names: &[Option<&str>], has_inlined: bool) -> Vec<bool> {
    let function_of = |name: &Option<&'_ str>| Some(name.as_ref()?.split_once(PART)?.0.to_owned());
    let has_head = |function: &str| match has_inlined {
        // The code around an inlined head has any name.
        true => names.iter().any(|name| function_of(name).is_none()),
        false => names.contains(&Some(function)),
    };
    let is_kept = |name| function_of(name).is_none_or(|function| !has_head(&function));
    names.iter().map(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn parts_are_left_out_beside_their_heads() {
        let names = [Some("f"), Some("f.part.0"), Some("g.part.1"), None];
        assert_eq!(kept(&names, false), [true, false, true, true]);
        // The head of `g` is inlined in `main`.
        let names = [Some("main"), Some("g.part.1")];
        assert_eq!(kept(&names, true), [true, false]);
        assert_eq!(kept(&names, false), [true, true]);
        assert_eq!(kept(&names[1..], true), [true]);
        assert_eq!(kept(&[Some("f.constprop.0")], true), [true]);
    }
}
