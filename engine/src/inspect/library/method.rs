//! Methods of a library's class by name and types of arguments.

use super::call::Call;
use super::compare::{self, Comparison};
use super::contents::{Contents, contents, rust_class};
use super::cpp::Part;
use super::{cpp, rust};
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Int, Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Synthetic, Target, Ty, Value};
use crate::inspect::visualize::rust_std;
use crate::inspect::visualize::standard::{self, before_arguments, std_class};
use dwarf::Language;
use std::sync::Arc;

/// A method of a library's class that is answered by reading.
#[derive(Clone, Debug)]
pub struct Method {
    /// Type of the result.
    pub returns: Ty,
    /// Types of the parameters; `None` for one that takes several types.
    pub parameters: Vec<Option<Ty>>,
    class: Arc<Class>,
    kind: MethodKind,
}

#[derive(Clone, Copy, Debug)]
enum MethodKind {
    Row(&'static Row),
    Comparison(Comparison),
    Part(Part),
    /// A conversion of Rust.
    Conversion(rust::Conversion),
}

/// A class with methods, by its type.
#[derive(Debug)]
pub(super) struct Class {
    /// The type without references and qualifiers.
    pub ty: Ty,
    /// What it contains.
    pub contents: Option<Contents>,
    pub language: Language,
    /// The name of the class without path and arguments: `vector`, `Vec`; of Rust's built-in types
    /// `str`, `slice`, `array`, `int`, `float`, `char`.
    pub name: String,
}

/// A method in a table.
#[derive(Debug)]
pub(super) struct Row {
    pub name: &'static str,
    pub parameters: &'static [Parameter],
    /// Number of parameters without a default.
    pub required: usize,
    /// Returns the type of the result; `None`: the class lacks the method.
    pub returns: fn(&Class) -> Option<Ty>,
    pub run: fn(&Call<'_>) -> Result<Value, Error>,
}

/// A parameter of a method in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parameter {
    /// An index, count or position.
    Index,
    /// Rust's `u32`.
    Small,
    /// A text, or a character of one.
    Text,
    /// What a string is added to.
    Piece,
    /// What the class contains: an element, the value of an option.
    Element,
    /// What is compared with elements.
    Item,
    /// What is compared with keys.
    Key,
    /// A value of the class itself.
    Own,
    /// Elements in a row.
    Row,
    /// A value that the method does not read: a memory order.
    Unread,
}

impl Row {
    pub const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        returns: fn(&Class) -> Option<Ty>,
        run: fn(&Call<'_>) -> Result<Value, Error>,
    ) -> Row {
        Row {
            name,
            parameters,
            required: parameters.len(),
            returns,
            run,
        }
    }

    /// Gives defaults to the parameters behind the first `required`.
    pub const fn required(self, required: usize) -> Row {
        Row { required, ..self }
    }
}

impl Parameter {
    fn accepts(self, class: &Class, argument: &Ty) -> bool {
        match self {
            Parameter::Index | Parameter::Small => compare::is_integer(argument),
            Parameter::Text => compare::is_text(argument) || compare::is_integer(argument),
            Parameter::Own => compare::comparable(&class.ty, argument),
            Parameter::Row => is_row(argument),
            Parameter::Piece => cpp::is_piece(class, argument),
            Parameter::Item => class
                .element()
                .is_some_and(|it| compare::comparable(it, argument)),
            Parameter::Key => class
                .key()
                .is_some_and(|it| compare::comparable(it, argument)),
            Parameter::Element | Parameter::Unread => true,
        }
    }

    fn declared(self, class: &Class) -> Option<Ty> {
        let by_reference = |ty: &Ty| match class.language {
            Language::Rust => ty.clone().reference(),
            _ => ty.clone(),
        };
        match self {
            Parameter::Index => Some(size(class)?),
            Parameter::Small => Some(u32_ty(class)?),
            Parameter::Own => Some(class.ty.clone()),
            Parameter::Row => class.element().cloned().map(Ty::slice),
            Parameter::Key => class.key().map(by_reference),
            Parameter::Item => class.element().map(by_reference),
            Parameter::Element => match &class.contents {
                Some(Contents::Optional(of) | Contents::Either(of, _)) => Some(of.clone()),
                _ => class.element().map(by_reference),
            },
            Parameter::Text | Parameter::Piece | Parameter::Unread => None,
        }
    }
}

/// Returns whether a type is that of contiguous elements, or of a pointer to them.
fn is_row(ty: &Ty) -> bool {
    match (contents(ty), ty.shape()) {
        (Some(Contents::Sequence(_)), _) | (None, Shape::Array(_)) => true,
        (Some(Contents::Pointee(of)), _) => {
            matches!(of.shape(), Shape::Array(_))
                || matches!(contents(&of), Some(Contents::Sequence(_)))
        }
        _ => false,
    }
}

/// A number's type.
fn unsigned(size: u8, name: &'static str) -> Ty {
    Ty::Builtin(Scalar::new(ScalarKind::Unsigned, size), name)
}

/// Returns `size_t` or `usize`.
pub(super) fn size(class: &Class) -> Option<Ty> {
    Some(match class.language {
        Language::Rust => unsigned(8, "usize"),
        _ => unsigned(8, "unsigned long"),
    })
}

/// Returns `u32`.
pub(super) fn u32_ty(_: &Class) -> Option<Ty> {
    Some(unsigned(4, "u32"))
}

/// Returns `bool`.
pub(super) fn boolean(_: &Class) -> Option<Ty> {
    Some(Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool"))
}

/// Returns the type of the class itself.
pub(super) fn own(class: &Class) -> Option<Ty> {
    Some(class.ty.clone())
}

/// Returns the type of an element: of the value of a map, of the target of a pointer.
pub(super) fn element(class: &Class) -> Option<Ty> {
    class.element().cloned()
}

/// Returns the pointer to an element.
pub(super) fn element_pointer(class: &Class) -> Option<Ty> {
    element(class).map(Ty::pointer)
}

/// Returns Rust's `*const T` to an element.
pub(super) fn element_const_pointer(class: &Class) -> Option<Ty> {
    element(class).map(Ty::const_pointer)
}

impl Class {
    fn of(ty: &Ty) -> Option<Class> {
        let ty = ty.strip();
        let found = |language, name: &str| {
            Some(Class {
                contents: contents(&ty),
                ty: ty.clone(),
                language,
                name: name.to_owned(),
            })
        };
        match ty.shape() {
            Shape::Composite(class) if class.language() == Language::Rust => {
                let name = match &contents(&ty) {
                    Some(Contents::Sequence(_)) if rust_std::is_slice(&class) => "slice",
                    Some(Contents::Text(..)) if rust_std::is_slice(&class) => "str",
                    Some(Contents::Tuple(_)) => "tuple",
                    _ => rust_class(&class)?,
                };
                found(Language::Rust, name)
            }
            Shape::Composite(class) => {
                let (_, name) = std_class(before_arguments(&class.ty.name))?;
                found(Language::Cpp, name)
            }
            Shape::Synthetic(synthetic) => match &*synthetic {
                Synthetic::Slice(_) => found(Language::Rust, "slice"),
                Synthetic::Str => found(Language::Rust, "str"),
                Synthetic::Tuple(_) => found(Language::Rust, "tuple"),
                Synthetic::Struct(name, _) => {
                    let path = before_arguments(name);
                    found(Language::Rust, path.rsplit("::").next().unwrap_or_default())
                }
                Synthetic::Range(name, _) => {
                    let path = before_arguments(name);
                    found(Language::Rust, path.rsplit("::").next().unwrap_or_default())
                }
                Synthetic::Enum(of) => {
                    let path = before_arguments(&of.name);
                    found(Language::Rust, path.rsplit("::").next().unwrap_or_default())
                }
                _ => None,
            },
            Shape::Text => {
                // A literal of C++ is an array of characters, which has no methods.
                let (name, language) = match &ty {
                    Ty::Synthetic(text) if text.language() == Language::Rust => {
                        ("String", Language::Rust)
                    }
                    Ty::Synthetic(_) => ("basic_string", Language::Cpp),
                    _ => ("str", Language::Rust),
                };
                let mut class = found(language, name)?;
                let unit = crate::inspect::value::text::Unit::Byte;
                class.contents = Some(Contents::Text(unit, unit.element(language)));
                Some(class)
            }
            Shape::Array(array) if ty.language() == Language::Rust => {
                let mut class = found(Language::Rust, "array")?;
                class.contents = Some(Contents::Sequence(array.element.clone()));
                Some(class)
            }
            // The type of a condition has one name in all languages; only in Rust it has methods.
            Shape::Scalar(scalar)
                if ty.language() == Language::Rust
                    || matches!(ty, Ty::Builtin(it, "bool") if it.kind == ScalarKind::Bool) =>
            {
                let name = match scalar.kind {
                    ScalarKind::Signed | ScalarKind::Unsigned => "int",
                    ScalarKind::UnsignedChar | ScalarKind::SignedChar | ScalarKind::PlainChar => {
                        "int"
                    }
                    ScalarKind::Float(_) => "float",
                    ScalarKind::Utf => "char",
                    ScalarKind::Bool => "bool",
                    ScalarKind::Complex(_) | ScalarKind::Address => return None,
                };
                found(Language::Rust, name)
            }
            Shape::Pointer(of, PointerKind::Owned)
                if ty.name().starts_with("alloc::boxed::Box<") =>
            {
                let mut class = found(Language::Rust, "Box")?;
                class.contents = Some(Contents::Pointee(of));
                Some(class)
            }
            Shape::Enumeration(class)
                if class.language() == Language::Rust
                    && &*class.ty.name == "core::cmp::Ordering" =>
            {
                found(Language::Rust, "Ordering")
            }
            _ => None,
        }
    }

    /// Returns the tables of the class's methods.
    fn tables(&self) -> Vec<&'static [Row]> {
        match self.language {
            Language::Rust => rust::tables(self),
            _ => cpp::tables(&self.name),
        }
    }

    /// Returns the type of what the class contains: an element, the value of a map, a target.
    pub fn element(&self) -> Option<&Ty> {
        match self.contents.as_ref()? {
            Contents::Text(_, of)
            | Contents::Sequence(of)
            | Contents::List(of)
            | Contents::Unbounded(of)
            | Contents::Set(of)
            | Contents::Map(_, of)
            | Contents::Pointee(of)
            | Contents::Wrapped(of)
            | Contents::Optional(of)
            | Contents::Either(of, _) => Some(of),
            Contents::Variant(_) | Contents::Tuple(_) => None,
        }
    }

    /// Returns a template argument of the class.
    pub fn template_argument(&self, index: usize) -> Option<Ty> {
        match &self.ty {
            Ty::Synthetic(range) => match &**range {
                Synthetic::Range(_, bounds) => bounds.get(index).map(|it| it.1.clone()),
                _ => None,
            },
            ty => standard::argument(ty, index).ok(),
        }
    }

    /// Returns the type of a key of a map or set.
    pub fn key(&self) -> Option<&Ty> {
        match self.contents.as_ref()? {
            Contents::Map(key, _) | Contents::Set(key) => Some(key),
            _ => None,
        }
    }
}

/// Returns a type without references.
pub fn referent(ty: &Ty) -> Ty {
    let mut ty = ty.clone();
    for _ in 0..16 {
        match ty.shape() {
            Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => ty = of,
            _ => break,
        }
    }
    ty
}

/// Returns the method of a class with that name that takes such arguments; `None` if it has none, or
/// reading does not answer it. The class is that of the object itself: references and smart
/// pointers are followed by the caller.
pub fn method(class: &Ty, name: &str, arguments: &[Ty]) -> Option<Method> {
    let class = Class::of(class)?;
    // `text.parse::<i32>()`, `iter.sum::<i32>()`
    let (name, generic) = match (name.strip_suffix('>'), class.language) {
        (Some(name), Language::Rust) => name.split_once('<')?,
        _ => (name, ""),
    };
    match (name, arguments) {
        ("parse", []) => {
            let returns = rust::parsed(&class.ty, generic)?;
            return Some(Method {
                returns,
                parameters: Vec::new(),
                class: Arc::new(class),
                kind: MethodKind::Conversion(rust::Conversion::Parse),
            });
        }
        ("sum" | "product", _) if class.language == Language::Rust && generic.is_empty() => {
            return None;
        }
        _ => {}
    }
    let arguments: Vec<Ty> = arguments.iter().map(referent).collect();
    if let ([other], Some(comparison)) = (&arguments[..], Comparison::named(name, class.language)) {
        return comparison.fits(&class.ty, other).then(|| Method {
            returns: comparison.returns(),
            parameters: vec![Some(class.ty.clone())],
            class: Arc::new(class),
            kind: MethodKind::Comparison(comparison),
        });
    }
    let fits = |row: &&Row| {
        let count = row.required..=row.parameters.len();
        let mut pairs = row.parameters.iter().zip(&arguments);
        row.name == name
            && count.contains(&arguments.len())
            && pairs.all(|(parameter, argument)| parameter.accepts(&class, argument))
    };
    let tables = class.tables();
    let mut rows = tables.iter().flat_map(|table| table.iter()).filter(fits);
    rows.find_map(|row| {
        let returns = (row.returns)(&class)?;
        if !generic.is_empty() && *generic != *returns.name() {
            return None;
        }
        let parameters = row.parameters.iter();
        Some((
            row,
            returns,
            parameters.map(|it| it.declared(&class)).collect(),
        ))
    })
    .map(|(row, returns, parameters)| Method {
        returns,
        parameters,
        class: Arc::new(class),
        kind: MethodKind::Row(row),
    })
}

/// Returns whether a class has a method of that name, for some arguments.
pub fn has(class: &Ty, name: &str) -> bool {
    Class::of(class).is_some_and(|class| {
        let name = name.split('<').next().unwrap_or(name);
        if name == "parse" && class.language == Language::Rust && compare::is_text(&class.ty) {
            return true;
        }
        let rows = class.tables().into_iter().flatten();
        let mut rows = rows.filter(|row| row.name == name);
        rows.any(|row| (row.returns)(&class).is_some())
            || Comparison::named(name, class.language).is_some()
    })
}

/// Returns the names of the methods of a class.
pub fn names(class: &Ty) -> Vec<&'static str> {
    let Some(class) = Class::of(class) else {
        return Vec::new();
    };
    let tables = class.tables();
    let rows = tables.iter().flat_map(|table| table.iter());
    let mut names: Vec<&str> = rows
        .filter(|row| !row.name.starts_with("operator") && (row.returns)(&class).is_some())
        .map(|row| row.name)
        .collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// Returns the method that a path names, with the object as the first argument: `Rc::strong_count`,
/// `i32::abs`, `Option::is_some`.
pub fn function(path: &str, arguments: &[Ty]) -> Option<Method> {
    let (object, rest) = arguments.split_first()?;
    let object = referent(object);
    if let Some((part, returns)) = Part::named(path, &object) {
        return Some(Method {
            returns,
            parameters: Vec::new(),
            class: Arc::new(Class::of(&object)?),
            kind: MethodKind::Part(part),
        });
    }
    let plain: Vec<Ty> = arguments.iter().map(referent).collect();
    if let Some((conversion, returns)) = rust::conversion(path, &plain) {
        return Some(Method {
            returns,
            parameters: Vec::new(),
            class: Arc::new(Class::of(&object)?),
            kind: MethodKind::Conversion(conversion),
        });
    }
    let (class, name) = path.rsplit_once("::")?;
    let known = Class::of(&object)?;
    let class = before_arguments(class.trim_end_matches("::"));
    let class = class.rsplit("::").next().unwrap_or(class);
    if known.language != Language::Rust || class != known.name && *class != *known.ty.name() {
        return None;
    }
    rust::associated(&known, name)
        .filter(|row| row.parameters.len() == rest.len())
        .and_then(|row| {
            Some(Method {
                returns: (row.returns)(&known)?,
                parameters: Vec::new(),
                class: Arc::new(known),
                kind: MethodKind::Row(row),
            })
        })
        .or_else(|| method(&object, name, rest))
}

/// Returns whether a value counts as true where C++ converts it to `bool`: a smart pointer, an
/// optional, a function. `None`: its class has no such conversion that is answered by reading.
pub fn truth(target: &dyn Target, value: &Value) -> Option<Result<bool, Error>> {
    if !matches!(
        value.ty.shape(),
        Shape::Composite(_) | Shape::Pointer(_, PointerKind::Reference)
    ) {
        return None;
    }
    let value = match value.referent(target) {
        Ok(value) => value,
        Err(error) => return Some(Err(error)),
    };
    let method = method(&value.ty, "operator bool", &[])?;
    let result = method.evaluate(target, &value, &[]);
    Some(result.and_then(|it| Ok(it.raw(target)? != 0)))
}

impl Method {
    /// Returns the object of the method's class that references and boxes around it lead to.
    ///
    /// # Errors
    /// A reference cannot be read.
    pub fn object(&self, target: &dyn Target, value: &Value) -> Result<Value, Error> {
        let mut value = value.clone();
        for _ in 0..16 {
            if self.class.ty.same_as(&value.ty) {
                break;
            }
            match value.ty.shape() {
                Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                    value = value.pointee(target, of)?;
                }
                _ => break,
            }
        }
        Ok(value)
    }

    /// Returns its name, as in the source: `len`, `operator==`.
    pub fn name(&self) -> &'static str {
        match self.kind {
            MethodKind::Row(row) => row.name,
            MethodKind::Comparison(_) => "operator",
            MethodKind::Part(_) => "get",
            MethodKind::Conversion(_) => "from",
        }
    }

    /// Returns the comparison that it is; `None` for other methods.
    pub fn comparison(&self) -> Option<Comparison> {
        match self.kind {
            MethodKind::Comparison(comparison) => Some(comparison),
            _ => None,
        }
    }

    /// Returns the part that it reads, as `std::get` does; `None` for other methods.
    pub fn part(&self) -> Option<Part> {
        match self.kind {
            MethodKind::Part(part) => Some(part),
            _ => None,
        }
    }

    /// Gives a result the declared type: the debug info may have it under another name, and the
    /// number of an argument (`value_or(3)`) may have another width.
    fn typed(&self, target: &dyn Target, result: Value) -> Value {
        // A text that an argument has made does not have the bytes of the string object.
        if matches!(result.ty.shape(), Shape::Text) {
            return result;
        }
        if self.returns.same_as(&result.ty) {
            return Value {
                ty: self.returns.clone(),
                ..result
            };
        }
        match (self.returns.shape(), result.ty.shape(), result.raw(target)) {
            (Shape::Scalar(to), Shape::Scalar(from), Ok(bits))
                if to.is_integral() && from.is_integral() =>
            {
                let int = Int::new(bits, from.size, from.is_signed());
                let bytes = (int.value() as u128).to_le_bytes();
                let size = usize::from(to.size.min(16));
                Value::of_bytes(self.returns.clone(), &bytes[..size])
            }
            _ => result,
        }
    }

    /// Returns the result of the method for an object.
    ///
    /// # Errors
    /// It has none for this object (an index out of range, `unwrap` of `None`), or memory cannot be
    /// read.
    pub fn evaluate(
        &self,
        target: &dyn Target,
        object: &Value,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        match self.kind {
            MethodKind::Row(row) => {
                let call = Call {
                    target,
                    class: &self.class,
                    object,
                    arguments,
                    returns: &self.returns,
                    name: row.name,
                };
                (row.run)(&call).map(|result| self.typed(target, result))
            }
            MethodKind::Part(part) => part.evaluate(target, &self.returns, object),
            MethodKind::Conversion(conversion) => {
                rust::converted(conversion, target, &self.returns, object, arguments)
            }
            MethodKind::Comparison(comparison) => {
                let other = arguments.first().ok_or_else(super::call::no_argument)?;
                comparison.evaluate(target, &self.returns, object, other)
            }
        }
    }
}
