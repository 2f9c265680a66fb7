//! Functions that a compiler has split: the calls of `f` pass its head, in `f` or where it is inlined,
//! and some go on in `f.part.0`.

use super::BoundLocation;

/// What gcc puts between a function's name and the number of its part.
const PART: &str = ".part.";

/// Leaves out the parts of functions whose head is among the places, so that a call is one hit.
/// `symbol`: the name of the code at a place; `has_inlined`: whether inlined copies are among the places. Returns a
/// remark if they are not: a call from such a copy of a head, which goes on in the part, is no hit.
pub(crate) fn leave_out<'name>(
    places: &mut Vec<BoundLocation>,
    has_inlined: bool,
    symbol: impl Fn(&BoundLocation) -> Option<&'name str>,
) -> Option<String> {
    let names: Vec<Option<&str>> = places.iter().map(symbol).collect();
    let kept = kept(&names, has_inlined);
    let left_out = kept.iter().filter(|is_kept| !**is_kept).count();
    let mut kept = kept.into_iter();
    places.retain(|_| kept.next().unwrap_or(true));
    remark(left_out).filter(|_| !has_inlined)
}

fn remark(left_out: usize) -> Option<String> {
    let functions = match left_out {
        0 => return None,
        1 => "1 function is split (`.part`): its calls".to_owned(),
        count => format!("{count} functions are split (`.part`): their calls"),
    };
    Some(format!(
        "{functions} from inlined copies of the first part are not counted"
    ))
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
    use super::{kept, remark};

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
        assert_eq!(remark(0), None);
        let remark = remark(2).unwrap_or_default();
        assert!(remark.starts_with("2 functions are split"), "{remark}");
    }
}
