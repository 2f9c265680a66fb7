//! Decides whether a function may be called for an expression: it must belong to exactly the
//! object's class and take exactly these arguments. A function of another instantiation of a
//! template would run as well, and overwrite what follows the object; a bytewise copy of a value
//! with a destructor would be freed twice.

use super::argument_rust::accepts_reference;
use super::invoke::ResolvedFunction;
use super::ir::Expr;
use super::overload::parameters;
use super::ownership;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::{Language, Method, TypeKind};
use std::sync::Arc;

/// Maximum nesting of pointer targets to compare.
const DEPTH: usize = 16;
/// Rank of an argument that needs no conversion.
const EXACT: u32 = 4;

/// The reason why a function is not called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// It belongs to this other type.
    OfAnotherType(String),
    /// It does not take these arguments.
    Arguments,
    /// An argument must not be passed; cause and remedy.
    Argument(String),
}

impl Refusal {
    /// Returns the significance: the most significant reason is reported.
    pub(super) fn weight(&self) -> u8 {
        match self {
            Refusal::OfAnotherType(_) => 0,
            Refusal::Arguments => 1,
            Refusal::Argument(_) => 2,
        }
    }

    /// Returns the message for an argument that a pointer to a function does not take.
    pub(super) fn of_pointer(self, ty: &Ty, argument: &Passed) -> String {
        match self {
            Refusal::Argument(why) => why,
            _ => format!(
                "expected `{}`, found `{}`; cast it if intended",
                ty.name(),
                argument.ty.name()
            ),
        }
    }
}

/// An argument as overload resolution sees it.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// Its type; the target's if it is a C++ reference.
    pub ty: Ty,
    /// Whether it is an object, as opposed to a computed value.
    pub is_place: bool,
    /// Whether its type is still open, like that of a Rust literal without a suffix.
    pub is_open: bool,
}

impl Passed {
    /// Returns a checked expression as an argument.
    pub(super) fn of(argument: &Expr<'_>) -> Passed {
        match argument.ty.shape() {
            Shape::Pointer(ty, PointerKind::Reference) => Passed {
                ty,
                is_place: true,
                is_open: false,
            },
            _ => Passed {
                ty: argument.ty.clone(),
                is_place: argument.is_place(),
                is_open: argument.open,
            },
        }
    }
}

/// A function that a call may mean: one with code, or one that a class declares.
#[derive(Clone)]
pub(crate) struct Candidate {
    /// Its qualified name.
    pub name: String,
    /// The types of its parameters, the object first.
    pub types: Vec<Ty>,
    pub returns: Ty,
    pub language: Language,
    /// Whether it is a C++ member function with an object.
    pub has_this: bool,
    /// Whether its object is const.
    pub is_const: bool,
    /// The class that it belongs to; `None`: a free function, or one of a trait.
    pub is_of_class: bool,
    /// The function, if the program has code of it.
    pub code: Option<ResolvedFunction>,
    /// Its position in the virtual table of its class.
    pub slot: Option<u64>,
}

impl Candidate {
    /// Returns a function with code.
    pub(super) fn of(known: ResolvedFunction) -> Candidate {
        let function = &known.function;
        Candidate {
            name: function.name.clone(),
            types: parameters(&known),
            returns: match function.return_type {
                Some(id) => Ty::dwarf(&known.module, known.bias, id),
                None => Ty::Void,
            },
            language: function.language,
            has_this: has_this(&known),
            is_const: is_const_method(&known),
            is_of_class: known.module.class_of(function).is_some(),
            slot: None,
            code: Some(known),
        }
    }

    /// Returns a member function as its class declares it.
    pub(super) fn declared(class: &DwarfTy, method: &Method) -> Candidate {
        let types = method
            .parameters
            .iter()
            .map(|id| class.related_or_void(*id));
        let types: Vec<Ty> = types.collect();
        let this = types.first().map(Ty::strip);
        Candidate {
            name: format!("{}::{}", class.ty.name, method.name),
            returns: class.related_or_void(method.return_type),
            language: Language::Cpp,
            has_this: true,
            is_const: this.is_some_and(|this| points_to_const(&this)),
            is_of_class: true,
            slot: method.slot,
            code: None,
            types,
        }
    }

    /// Returns whether a method call passes it the object.
    pub(super) fn takes_object(&self) -> bool {
        self.language == Language::Rust || self.has_this
    }
}

/// Ranks a function for a call: `typed` is its name in the expression; `is_method`: the first
/// argument is the object. All decisions on what is called are made here.
pub(super) fn fitness(
    known: &Candidate,
    is_method: bool,
    typed: &str,
    arguments: &[Passed],
) -> Result<u32, Refusal> {
    let types = &known.types[..];
    // A static member function takes no object.
    let (types, arguments, mut sum) = match (is_method, known.has_this) {
        (true, true) => (types.get(1..), arguments.get(1..), EXACT),
        (true, false) if !known.takes_object() => (Some(types), arguments.get(1..), 0),
        _ => (Some(types), Some(arguments), 0),
    };
    let (types, arguments) = (types.unwrap_or_default(), arguments.unwrap_or_default());
    let is_variadic = || {
        let code = known.code.as_ref();
        let is_variadic = code.is_some_and(|it| it.module.is_variadic(&it.function));
        known.language != Language::Rust && is_variadic
    };
    if types.len() != arguments.len() && !(types.len() < arguments.len() && is_variadic()) {
        return Err(Refusal::Arguments);
    }
    // A template instance must be the one that these arguments would instantiate.
    let is_instance = is_instance(&known.name) && !is_instance(typed);
    for (ty, value) in types.iter().zip(arguments) {
        let accepted = accepts(ty, value, known.language);
        let is_other = match &accepted {
            Ok(rank) => *rank < EXACT,
            Err(_) => !same(ty, &value.ty),
        };
        if is_instance && is_other {
            return Err(Refusal::Argument(format!(
                "no instance of `{}` takes this argument: expected `{}`, found `{}`; cast the \
                 argument, or write the template's arguments",
                known.name,
                ty.name(),
                value.ty.name()
            )));
        }
        sum += accepted?;
    }
    Ok(sum)
}

/// Ranks an argument for a parameter, from 1 to 5.
pub(super) fn accepts(
    parameter: &Ty,
    argument: &Passed,
    language: Language,
) -> Result<u32, Refusal> {
    match language == Language::Rust || argument.ty.language() == Language::Rust {
        true => accepts_rust(parameter, argument),
        false => accepts_cpp(parameter, argument),
    }
}

fn accepts_rust(to: &Ty, argument: &Passed) -> Result<u32, Refusal> {
    let from = &argument.ty;
    if let Some(ranked) = accepts_reference(to, from) {
        return ranked;
    }
    let rank = match (to.shape(), from.shape()) {
        (Shape::Pointer(of, _), _) if is_borrowed(to) || is_raw(to) => {
            match from.shape() {
                // `x` for `&x`.
                _ if is_borrowed(to) && same(&of, from) => 5,
                Shape::Pointer(from, _) if same(&of, &from) => 5,
                Shape::Function if matches!(of.shape(), Shape::Function) => EXACT,
                // A number as an address.
                Shape::Scalar(_) if is_raw(to) => 1,
                _ => return Err(Refusal::Arguments),
            }
        }
        (Shape::Pointer(of, _), _)
            if matches!(of.shape(), Shape::Function) && is_function(from) =>
        {
            EXACT
        }
        (Shape::Composite(_), Shape::Text) if matches!(&*to.name(), "&str" | "&[u8]") => EXACT,
        (Shape::Composite(_), _) if !same(to, from) => match is_row(to, from) {
            true => 3,
            false => return Err(Refusal::Arguments),
        },
        (Shape::Scalar(a), Shape::Scalar(b)) if argument.is_open => {
            let is_float = |it: Scalar| matches!(it.kind, ScalarKind::Float(_));
            return match is_float(a) == is_float(b) {
                true => Ok(numbers(to, from)),
                false => Err(mismatch(to, from)),
            };
        }
        (Shape::Scalar(_) | Shape::Enumeration(_), Shape::Scalar(_) | Shape::Enumeration(_)) => {
            return match same(to, from) {
                true => Ok(numbers(to, from)),
                false => Err(mismatch(to, from)),
            };
        }
        _ if same(to, from) => 5,
        _ => return Err(Refusal::Arguments),
    };
    if !is_borrowed(to) && !is_raw(to) {
        ownership::may_move(from).map_err(Refusal::Argument)?;
    }
    Ok(rank)
}

fn mismatch(to: &Ty, from: &Ty) -> Refusal {
    let (to, from) = (to.name(), from.name());
    Refusal::Argument(format!(
        "expected `{to}`, found `{from}`; cast it with `as {to}`"
    ))
}

/// Returns whether a value has elements that a parameter of type `&str` or slice takes.
fn is_row(to: &Ty, from: &Ty) -> bool {
    let name = to.name();
    let Some(of) = name.strip_prefix('&') else {
        return false;
    };
    let of = of.strip_prefix("mut ").unwrap_or(of);
    let is_row_of = |element: &Ty| {
        let inner = of.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        inner == Some(&element.name())
    };
    let mut from = from.clone();
    for _ in 0..DEPTH {
        from = match (library::contents(&from), from.shape()) {
            (Some(Contents::Text(Unit::Byte, _)), _) if of == "str" => return true,
            (Some(Contents::Sequence(element)), _) => return is_row_of(&element),
            (Some(Contents::Pointee(next) | Contents::Wrapped(next)), _) => next,
            (_, Shape::Array(array)) => return is_row_of(&array.element),
            (_, Shape::Pointer(of, _)) => of,
            _ => return false,
        };
    }
    false
}

fn accepts_cpp(parameter: &Ty, argument: &Passed) -> Result<u32, Refusal> {
    let from = &argument.ty;
    if let Some((of, is_rvalue)) = reference(parameter) {
        if is_rvalue && argument.is_place && matches!(from.shape(), Shape::Composite(_)) {
            return Err(Refusal::Argument(format!(
                "`{}` may move from the object; call a function that takes it by `const &` or by \
                 value",
                parameter.name()
            )));
        }
        let is_number = matches!(of.shape(), Shape::Scalar(_) | Shape::Enumeration(_));
        let is_bound = is_const(&of) || is_rvalue;
        return match from.shape() {
            _ if same(&of, from) => Ok(5),
            // The function gets a converted copy.
            Shape::Scalar(_) | Shape::Enumeration(_) if is_number && is_bound => {
                Ok(numbers(&of, from).min(3))
            }
            Shape::Scalar(_) | Shape::Enumeration(_) if is_number => {
                Err(Refusal::Argument(format!(
                    "cannot bind `{}` to a `{}`; pass a variable of that type",
                    parameter.name(),
                    from.name()
                )))
            }
            _ => Err(Refusal::Arguments),
        };
    }
    let rank = match (parameter.shape(), from.shape()) {
        (Shape::Pointer(of, _), Shape::Text) if of.size() == Some(1) => EXACT,
        (Shape::Pointer(of, _), Shape::Array(array)) => pointees(&of, &array.element)?,
        (Shape::Pointer(of, _), Shape::Pointer(from, _)) => pointees(&of, &from)?,
        (Shape::Pointer(of, _), Shape::Function)
            if matches!(of.shape(), Shape::Function | Shape::Void) =>
        {
            EXACT
        }
        // A number as an address.
        (Shape::Pointer(..), Shape::Scalar(_)) => 1,
        (Shape::Scalar(_) | Shape::Enumeration(_), Shape::Scalar(_) | Shape::Enumeration(_)) => {
            numbers(parameter, from)
        }
        _ if same(parameter, from) => 5,
        _ => return Err(Refusal::Arguments),
    };
    Ok(rank)
}

/// Ranks the conversion between two number types.
fn numbers(to: &Ty, from: &Ty) -> u32 {
    let float = |ty: &Ty| match ty.shape() {
        Shape::Scalar(it) => matches!(it.kind, ScalarKind::Float(_)),
        _ => false,
    };
    match (to.same_as(from), same(to, from)) {
        (true, _) => 5,
        (false, true) => EXACT,
        _ if float(to) == float(from) => 3,
        _ => 1,
    }
}

/// Ranks the conversion between two pointer types.
fn pointees(to: &Ty, from: &Ty) -> Result<u32, Refusal> {
    let is_integral = |ty: &Ty| match ty.shape() {
        Shape::Scalar(it) => it.is_integral(),
        _ => false,
    };
    if same(to, from) {
        return Ok(5);
    }
    let is_void = |ty: &Ty| matches!(ty.shape(), Shape::Void);
    // `char` as `unsigned char`.
    let same_bits = is_integral(to) && is_integral(from) && to.size() == from.size();
    if is_void(to) || is_void(from) || same_bits || derives(from, to) {
        return Ok(2);
    }
    Err(Refusal::Argument(format!(
        "expected a pointer to `{1}`, found a pointer to `{0}`; cast it if intended",
        from.name(),
        to.name()
    )))
}

/// Returns whether a class has another as a base.
pub(super) fn derives(class: &Ty, base: &Ty) -> bool {
    derives_within(class, base, 0)
}

fn derives_within(class: &Ty, base: &Ty, depth: usize) -> bool {
    let Shape::Composite(class) = class.shape() else {
        return false;
    };
    let bases = class
        .composite()
        .map(|it| &it.bases[..])
        .unwrap_or_default();
    depth < DEPTH
        && bases.iter().any(|it| {
            let of = class.related(it.ty);
            same(&of, base) || derives_within(&of, base, depth + 1)
        })
}

/// Returns the qualified names that a member function of a class may have: with the arguments of a
/// template, and without.
pub(super) fn names_in(class: &DwarfTy, name: &str) -> Vec<String> {
    let whole = &class.ty.name;
    let bare = whole.split('<').next().unwrap_or_default();
    let mut names = vec![format!("{whole}::{name}")];
    if whole != bare {
        names.push(format!("{bare}::{name}"));
    }
    names
}

/// Checks that a function is a member of exactly that class.
pub(super) fn is_member(known: &ResolvedFunction, class: &Arc<DwarfTy>) -> Result<(), Refusal> {
    let owner = known.module.class_of(&known.function);
    match owner.map(|id| Ty::dwarf(&known.module, known.bias, id)) {
        Some(owner) => match owner.shape() {
            Shape::Composite(owner) if is_same_class(&owner, class) => Ok(()),
            _ => Err(Refusal::OfAnotherType(owner.name().to_string())),
        },
        // A function of a trait's implementation belongs to no class; its `self` parameter has the
        // type.
        None if known.function.language == Language::Rust => {
            let object = Ty::Dwarf(Arc::clone(class));
            let own = match parameters(known).first() {
                Some(first) => behind_borrows(first),
                None => Ty::Void,
            };
            match same(&own, &object) {
                true => Ok(()),
                false => Err(Refusal::OfAnotherType(own.name().to_string())),
            }
        }
        None => Err(Refusal::OfAnotherType("no class".to_owned())),
    }
}

/// Returns whether two classes are the same: one entry, or copies in several units of a class with
/// one name. Classes without a name outside their unit are distinct.
pub(super) fn is_same_class(a: &Arc<DwarfTy>, b: &Arc<DwarfTy>) -> bool {
    let is_one_entry = Arc::ptr_eq(a, b)
        || Arc::ptr_eq(a.module(), b.module()) && a.bias == b.bias && a.ty.id == b.ty.id;
    is_one_entry
        || !a.ty.name.is_empty()
            && a.ty.name == b.ty.name
            && a.ty.size == b.ty.size
            && is_known_elsewhere(a)
            && is_known_elsewhere(b)
            && !contradict(a, b)
}

/// Returns whether two unnamed structs in two units are copies of one, which is named by a
/// `typedef`.
fn are_copies(a: &DwarfTy, b: &DwarfTy) -> bool {
    let (Some(x), Some(y)) = (a.composite(), b.composite()) else {
        return false;
    };
    a.ty.name.is_empty()
        && b.ty.name.is_empty()
        && a.ty.size == b.ty.size
        && x.members.len() == y.members.len()
        && x.members
            .iter()
            .zip(&y.members)
            .all(|(x, y)| x.name == y.name)
}

fn is_known_elsewhere(class: &DwarfTy) -> bool {
    const UNNAMED: [&str; 6] = [
        "(anonymous",
        "<unnamed",
        "<lambda",
        "{lambda",
        "{unnamed",
        "'lambda",
    ];
    !UNNAMED.iter().any(|it| class.ty.name.contains(it))
        && !class.module().is_local_type(class.ty.id)
}

/// Returns whether the symbols of a function that both classes declare differ: clang gives the same
/// name to classes local to two functions if they are template arguments.
fn contradict(a: &DwarfTy, b: &DwarfTy) -> bool {
    if a.language() != Language::Cpp {
        return false;
    }
    let (all, others) = (a.module().methods(a.ty.id), b.module().methods(b.ty.id));
    let symbols = |name: &str| {
        let same = others.iter().filter(|it| it.name == name);
        same.filter_map(|it| it.linkage_name.as_deref())
            .collect::<Vec<_>>()
    };
    let mut known = all
        .iter()
        .filter_map(|it| Some((it, it.linkage_name.as_deref()?)))
        .map(|(it, symbol)| (symbols(&it.name), symbol))
        .filter(|(symbols, _)| !symbols.is_empty())
        .peekable();
    known.peek().is_some() && !known.any(|(symbols, symbol)| symbols.contains(&symbol))
}

/// Returns whether two types are exactly the same without typedefs and qualifiers.
pub(super) fn same(a: &Ty, b: &Ty) -> bool {
    same_within(a, b, 0)
}

fn same_within(a: &Ty, b: &Ty, depth: usize) -> bool {
    if depth > DEPTH {
        return false;
    }
    match (a.shape(), b.shape()) {
        (Shape::Void, Shape::Void) | (Shape::Unit, Shape::Unit) => true,
        (Shape::Scalar(x), Shape::Scalar(y)) => match a.language() {
            Language::Rust => a.name() == b.name(),
            _ => x.kind == y.kind && x.size == y.size,
        },
        (Shape::Pointer(a, _), Shape::Pointer(b, _)) => same_within(&a, &b, depth + 1),
        (Shape::Array(a), Shape::Array(b)) => {
            a.count == b.count && same_within(&a.element, &b.element, depth + 1)
        }
        (Shape::Composite(x), Shape::Composite(y)) => {
            is_same_class(&x, &y) || a.name() == b.name() && are_copies(&x, &y)
        }
        (Shape::Function, Shape::Function) => true,
        _ => a.same_as(b),
    }
}

/// Returns the target of a C++ reference, and whether it is `&&`.
pub(super) fn reference(ty: &Ty) -> Option<(Ty, bool)> {
    let Ty::Dwarf(ty) = ty.strip() else {
        return None;
    };
    match ty.ty.kind {
        TypeKind::Reference(of) => Some((ty.related(of), false)),
        TypeKind::RvalueReference(of) => Some((ty.related(of), true)),
        _ => None,
    }
}

fn is_const(ty: &Ty) -> bool {
    let mut ty = ty.clone();
    for _ in 0..DEPTH {
        let Ty::Dwarf(at) = &ty else { return false };
        let next = match at.ty.kind {
            TypeKind::Const(_) => return true,
            TypeKind::Typedef(next) | TypeKind::Volatile(next) => next,
            _ => return false,
        };
        ty = at.related_or_void(next);
    }
    false
}

/// Returns whether a function takes a const object.
fn is_const_method(known: &ResolvedFunction) -> bool {
    let types = parameters(known);
    types
        .first()
        .is_some_and(|this| points_to_const(&this.strip()))
}

fn points_to_const(this: &Ty) -> bool {
    match this {
        Ty::Dwarf(this) => match this.ty.kind {
            TypeKind::Pointer(of) => is_const(&this.related_or_void(of)),
            _ => false,
        },
        _ => false,
    }
}

fn has_this(known: &ResolvedFunction) -> bool {
    let mut variables = known.function.scope.variables.iter();
    let first = variables.find(|it| it.kind == dwarf::VariableKind::Parameter);
    first.is_some_and(|it| it.artificial && matches!(it.name.as_str(), "this" | "__closure"))
}

fn is_borrowed(ty: &Ty) -> bool {
    ty.name().starts_with('&')
}

fn is_raw(ty: &Ty) -> bool {
    ty.name().starts_with('*')
}

/// Returns whether values are functions, or pointers to functions.
fn is_function(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Function => true,
        Shape::Pointer(of, _) => matches!(of.shape(), Shape::Function),
        _ => false,
    }
}

fn behind_borrows(ty: &Ty) -> Ty {
    match ty.shape() {
        Shape::Pointer(of, _) if is_borrowed(ty) => of,
        _ => ty.clone(),
    }
}

/// Returns whether a function's name ends in template arguments.
fn is_instance(name: &str) -> bool {
    if !name.ends_with('>') {
        return false;
    }
    let mut depth = 0usize;
    let mut open = None;
    for (at, byte) in name.bytes().enumerate().rev() {
        match byte {
            b'>' => depth += 1,
            b'<' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            open = (byte == b'<').then_some(at);
            break;
        }
    }
    let head = open.and_then(|at| name.get(..at)).unwrap_or_default();
    !head.is_empty() && !head.ends_with("operator") && !head.ends_with("::")
}

#[cfg(test)]
mod tests {
    use super::is_instance;

    #[test]
    fn names_with_the_arguments_of_a_template() {
        for name in [
            "twice<int>",
            "a::b<c::d>",
            "operator==<int>",
            "operator<=><int, long>",
        ] {
            assert!(is_instance(name), "{name}");
        }
        let others = [
            "twice",
            "Box<int>::get",
            "operator>",
            "operator>>",
            "operator->",
            "operator<",
            "operator<<",
            "operator<=>",
            "<a::T as a::B>::f",
        ];
        for name in others {
            assert!(!is_instance(name), "{name}");
        }
    }
}
