//! Parameter lists that a user typed after a function's name (`over(double)`) to select an
//! overload. Compilers, linkers and users write a type in several ways.

use crate::naming::path::{component_matches, components, parameter_list, squeeze};

/// The types of a parameter list, normalized.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Parameters(Vec<String>);

/// The types that `std::string` stands for, in the ABI since gcc 5 and in the older one.
const STRINGS: [&str; 2] = [
    "std::__cxx11::basic_string<char,std::char_traits<char>,std::allocator<char>>",
    "std::basic_string<char,std::char_traits<char>,std::allocator<char>>",
];

impl Parameters {
    /// Parses the list after a name; `None` without one.
    pub(crate) fn typed(name: &str) -> Option<Parameters> {
        let (_, list) = parameter_list(name)?;
        Some(Parameters::of(split(list)))
    }

    /// Normalizes a list of types.
    pub(crate) fn of<T: AsRef<str>>(types: impl IntoIterator<Item = T>) -> Parameters {
        let types = types.into_iter().map(|ty| plain(ty.as_ref()));
        let mut types: Vec<String> = types.collect();
        if types == ["void"] {
            types.clear();
        }
        Parameters(types)
    }

    /// Returns whether the list is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the typed list selects a function with these parameters. Leading path
    /// components and template arguments may be omitted.
    pub(crate) fn select(&self, found: &Parameters) -> bool {
        self.0.len() == found.0.len()
            && self
                .0
                .iter()
                .zip(&found.0)
                .all(|(typed, found)| is_type(typed, found))
    }
}

pub(super) fn is_type(typed: &str, found: &str) -> bool {
    let (base, rest) = base_and_rest(typed);
    let (found_base, found_rest) = base_and_rest(found);
    if rest != found_rest {
        return false;
    }
    let (typed, found) = (components(base), components(found_base));
    typed.len() <= found.len()
        && typed
            .iter()
            .rev()
            .zip(found.iter().rev())
            .all(|(typed, found)| component_matches(typed, found) || leaves_out(typed, found))
}

/// Returns whether a template is written without its last arguments (`vector<int>`).
fn leaves_out(typed: &str, found: &str) -> bool {
    let typed = typed.strip_suffix('>');
    let rest = typed.and_then(|typed| found.strip_prefix(typed));
    rest.is_some_and(|rest| rest.starts_with(','))
}

/// Splits a type's name from the qualifiers and pointers after it.
fn base_and_rest(ty: &str) -> (&str, &str) {
    let mut depth = 0usize;
    for (at, byte) in ty.bytes().enumerate() {
        match byte {
            b'<' | b'[' => depth += 1,
            b'>' | b']' => depth = depth.saturating_sub(1),
            b'*' | b'&' | b'(' | b' ' if depth == 0 => {
                return (ty.get(..at).unwrap_or(ty), ty.get(at..).unwrap_or(""));
            }
            _ => {}
        }
    }
    (ty, "")
}

/// Splits a list at the commas outside brackets.
pub(super) fn split(list: &str) -> Vec<&str> {
    if list.trim().is_empty() {
        return Vec::new();
    }
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.extend(list.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(list.get(start..));
    parts
}

/// Returns the name of a C++ type in one spelling: no `struct`, `const` behind what it qualifies, no top-level
/// `const`, one word for each integer type.
pub fn plain(ty: &str) -> String {
    let mut ty = ty.trim();
    let mut is_const = false;
    loop {
        let rest = ["struct ", "class ", "union ", "enum ", "volatile "]
            .iter()
            .find_map(|word| ty.strip_prefix(word));
        ty = match (rest, ty.strip_prefix("const ")) {
            (Some(rest), _) => rest.trim_start(),
            (None, Some(rest)) => {
                is_const = true;
                rest.trim_start()
            }
            (None, None) => break,
        };
    }
    let mut squeezed = squeeze(ty);
    for long in STRINGS {
        squeezed = squeezed.replace(&format!("{long}const"), "std::string const");
        squeezed = squeezed.replace(long, "std::string");
    }
    let words = match squeezed.as_str() {
        "signed" | "signed int" => "int".to_owned(),
        _ => squeezed,
    };
    // `unsigned long const*` contains spaces.
    let end = words.find(['*', '&', '(', '<']).unwrap_or(words.len());
    let (head, tail) = words.split_at(end);
    let bare = head.strip_suffix(" const");
    is_const |= bare.is_some();
    let head = bare.unwrap_or(head).replace(' ', "_");
    let mut out = head;
    if tail.starts_with('<') {
        let (arguments, rest) = base_and_rest(tail);
        out.push_str(arguments);
        let (was_const, rest) = match rest.trim_start().strip_prefix("const") {
            Some(rest) => (true, rest.trim_start()),
            None => (false, rest),
        };
        // A member of a template (`Outer<int>::Inner`) is already part of the name.
        if (is_const || was_const) && !rest.is_empty() {
            out.push_str(" const");
        }
        out.push_str(rest);
    } else {
        if is_const && !tail.is_empty() {
            out.push_str(" const");
        }
        out.push_str(tail);
    }
    // A top-level `const` of a parameter is not part of the function's type.
    for end in ["*const", "* const"] {
        if let Some(bare) = out.strip_suffix(end) {
            out = format!("{bare}*");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn selects(typed: &str, found: &[&str]) -> bool {
        let typed = Parameters::typed(typed).unwrap();
        typed.select(&Parameters::of(found))
    }

    #[test]
    fn types_in_several_spellings() {
        assert!(selects("over(double)", &["double"]));
        assert!(!selects("over(double)", &["int"]));
        assert!(!selects("over(double)", &["double", "int"]));
        assert!(!selects("over(double)", &[]));
        assert!(selects("f()", &[]) && selects("f(void)", &[]));
        assert!(selects("f(char const*)", &["const char *"]));
        assert!(selects("f(const char *)", &["char const*"]));
        assert!(!selects("f(char *)", &["const char *"]));
        assert!(selects("f(unsigned long)", &["long unsigned int"]));
        assert!(selects(
            "f(const unsigned long &)",
            &["unsigned long const&"]
        ));
        assert!(selects("f(const int)", &["int"]));
        assert!(selects("f(struct node *)", &["ns::node *"]));
        assert!(!selects("f(ode *)", &["ns::node *"]));
    }

    #[test]
    fn templates_and_strings() {
        let mangled = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&";
        assert!(selects("over(const std::string &)", &[mangled]));
        assert!(selects("over(const string&)", &["const std::string &"]));
        assert!(selects(
            "f(std::vector<int>)",
            &["std::vector<int, std::allocator<int> >"]
        ));
        assert!(!selects("f(std::vector<long>)", &["std::vector<int, A>"]));
        assert!(selects(
            "f(std::vector)",
            &["std::vector<int, std::allocator<int> >"]
        ));
        assert!(selects(
            "f(std::vector &, int)",
            &["std::vector<int, std::allocator<int> > &", "int"]
        ));
        assert!(selects(
            "f(std::function<void (int, int)>)",
            &["std::function<void(int, int)>"]
        ));
    }
}
