//! How an expression for an object becomes one for a member or base of it.

use super::path::{self, Lookup};
use super::{ChildPath, Shape, Ty};
use dwarf::Language;

/// Maximum number of members of a base whose names are looked up.
const NAMES: usize = 256;

/// What an expression is whose value has the members of an object.
#[derive(Clone, Debug)]
pub(super) struct Access {
    form: Form,
    /// The class that the expression says the object has, if its own is another one.
    seen: Option<Ty>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// The object, or a reference to it.
    Object,
    /// A pointer to it.
    Pointer,
    /// An object that stands for it: a smart pointer.
    Handle,
}

impl Access {
    /// The expression is the object.
    pub fn direct() -> Access {
        Access {
            form: Form::Object,
            seen: None,
        }
    }

    /// The expression is a pointer to the object.
    pub fn by_pointer() -> Access {
        Access {
            form: Form::Pointer,
            seen: None,
        }
    }

    /// The expression is an object that stands for another one.
    pub fn by_handle() -> Access {
        Access {
            form: Form::Handle,
            seen: None,
        }
    }

    /// The expression says that the object is a `seen`.
    pub fn seen_as(self, seen: &Ty, object: &Ty) -> Access {
        let is_own = object.same_as(seen);
        Access {
            seen: (!is_own).then(|| seen.clone()),
            ..self
        }
    }

    /// Returns the way to a member of the object's own class; `None`: no expression can name it.
    pub fn member(&self, object: &Ty, name: &str) -> Option<ChildPath> {
        let operator = match self.form {
            Form::Pointer => "->",
            Form::Object | Form::Handle => ".",
        };
        let is_hidden = |seen: &Ty| !matches!(path::find(seen, name), Lookup::Absent);
        if !self.seen.as_ref().is_some_and(is_hidden) {
            return Some(ChildPath::Suffix(format!("{operator}{name}")));
        }
        let (before, behind) = self.cast(object)?;
        Some(ChildPath::Around(
            before,
            format!("{behind}{operator}{name}"),
        ))
    }

    /// Returns the way to a base of the object. Its expression is that of the object if the names of its
    /// members mean the same there; `None`: no expression can name it.
    pub fn base(&self, object: &Ty, base: &Ty) -> Option<ChildPath> {
        if object.language() != Language::Cpp || self.shows_members_of(object, base) {
            return Some(ChildPath::Same);
        }
        let (before, behind) = match (&self.seen, self.form) {
            (Some(_), Form::Pointer) => {
                let (before, behind) = self.cast(object)?;
                (format!("*{before}"), behind)
            }
            (Some(_), _) => self.cast(object)?,
            (None, Form::Object) => (String::new(), String::new()),
            (None, Form::Pointer | Form::Handle) => ("*".to_owned(), String::new()),
        };
        let base = spelled(base)?;
        let before = format!("static_cast<{base} &>({before}");
        Some(ChildPath::Around(before, format!("{behind})")))
    }

    /// Returns the text around the expression that casts it to the object's own class.
    fn cast(&self, object: &Ty) -> Option<(String, String)> {
        let class = spelled(object)?;
        let before = match self.form {
            Form::Object => format!("static_cast<{class} &>("),
            Form::Pointer => format!("static_cast<{class} *>("),
            Form::Handle => format!("static_cast<{class} &>(*"),
        };
        Some((before, ")".to_owned()))
    }

    /// Returns whether the names of a base's members mean the same in the expression.
    fn shows_members_of(&self, object: &Ty, base: &Ty) -> bool {
        let Shape::Composite(class) = base.shape() else {
            return true;
        };
        let mut names = path::names(&class);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        // A base that hides a member of its own base.
        if names.len() < count || count > NAMES {
            return false;
        }
        names.iter().all(|name| {
            let here = match &self.seen {
                Some(seen) => match path::find(seen, name) {
                    Lookup::Absent => path::find(object, name),
                    found => found,
                },
                None => path::find(object, name),
            };
            is_one(&here, &path::find(base, name))
        })
    }
}

/// Returns whether two lookups find one member.
fn is_one(a: &Lookup, b: &Lookup) -> bool {
    let (Lookup::Found(a), Lookup::Found(b)) = (a, b) else {
        return false;
    };
    match (a.last(), b.last()) {
        (Some((a, _)), Some((b, _))) => match (a.member(), b.member()) {
            (Some(a), Some(b)) => a.id == b.id,
            _ => false,
        },
        _ => false,
    }
}

/// Returns the name of a class in expressions; `None` for one that has none there.
fn spelled(class: &Ty) -> Option<String> {
    let Ty::Dwarf(class) = class.strip() else {
        return None;
    };
    let name = &class.ty.name;
    let is_named =
        !name.is_empty() && !name.contains(['(', '{', '\'']) && !name.contains("<lambda");
    (is_named && !class.module().is_local_type(class.ty.id)).then(|| name.clone())
}
