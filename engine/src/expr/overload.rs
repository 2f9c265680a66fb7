//! Overload resolution: which function a call means, among those with code and those that a class
//! only declares. A function must take exactly these arguments; what does not is never called.

use super::conversion::{self, Fit, Passed, Rank, Refusal};
use super::exact;
use super::invoke::ResolvedFunction;
use super::overload_rust;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty, members};
use dwarf::{Language, LoadBias, Method, Module, Objects, TypeId, VariableKind};
use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

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
    /// The objects that it takes, as far as its class's declaration is known.
    pub objects: Objects,
    /// The class that it belongs to; `None`: a free function, or one of a trait.
    pub is_of_class: bool,
    /// The function, if the program has code of it with debug info.
    pub code: Option<ResolvedFunction>,
    /// Otherwise the symbol by which a library without debug info may have its code.
    pub symbol: Option<String>,
    /// Its position in the virtual table of its class.
    pub slot: Option<u64>,
    /// Whether it is deleted.
    pub deleted: bool,
}

impl Candidate {
    /// Returns a function with code.
    pub(super) fn of(known: ResolvedFunction) -> Candidate {
        let function = &known.function;
        Candidate {
            name: function.name.clone(),
            types: passed_types(&known),
            returns: match function.return_type {
                Some(id) => Ty::dwarf(&known.module, known.bias, id),
                None if function.language == Language::Rust => Ty::tuple(Vec::new()),
                None => Ty::Void,
            },
            language: function.language,
            has_this: has_this(&known),
            objects: Objects::Any,
            is_of_class: known.module.class_of(function).is_some(),
            slot: None,
            symbol: None,
            deleted: false,
            code: Some(known),
        }
    }

    /// Returns a member function as its class declares it.
    pub(super) fn declared(class: &DwarfTy, method: &Method) -> Candidate {
        let types = method
            .parameters
            .iter()
            .map(|id| class.related_or_void(*id));
        Candidate {
            name: format!("{}::{}", class.ty.name, method.name),
            returns: class.related_or_void(method.return_type),
            language: Language::Cpp,
            has_this: !method.is_static,
            objects: method.objects,
            is_of_class: true,
            slot: method.slot,
            symbol: method.linkage_name.clone().filter(|_| !method.deleted),
            deleted: method.deleted,
            code: None,
            types: types.collect(),
        }
    }

    /// Returns a free function whose calls are inlined.
    pub(super) fn inlined(module: &Arc<Module>, bias: LoadBias, function: &Method) -> Candidate {
        let ty = |id: Option<TypeId>| match id {
            Some(id) => Ty::dwarf(module, bias, id),
            None => Ty::Void,
        };
        Candidate {
            name: function.name.clone(),
            returns: ty(function.return_type),
            language: Language::Cpp,
            has_this: false,
            objects: Objects::Any,
            is_of_class: false,
            slot: None,
            symbol: None,
            deleted: false,
            code: None,
            types: function.parameters.iter().map(|id| ty(*id)).collect(),
        }
    }

    /// Returns whether a method call passes it the object.
    pub(super) fn takes_object(&self) -> bool {
        self.language == Language::Rust || self.has_this
    }

    /// Returns whether it is a member function for const objects.
    pub(super) fn takes_const_object(&self) -> bool {
        let this = self.types.first().filter(|_| self.has_this);
        this.is_some_and(|this| match this.shape() {
            Shape::Pointer(of, _) => of.is_const(),
            _ => false,
        })
    }

    /// Returns the message for a call of a function without code.
    pub(super) fn why_not_callable(&self) -> String {
        let own = usize::from(self.has_this);
        let parameters = self.types.iter().skip(own).map(Ty::name);
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let name = &self.name;
        match self.deleted {
            // An overload with a constraint has no entry before it is instantiated.
            true => format!(
                "`{name}({parameters})` is deleted, and no other overload in the debug info takes \
                 these arguments"
            ),
            false => format!(
                "no callable `{name}({parameters})` in the program: its calls are inlined, or it has \
                 none"
            ),
        }
    }

    /// Returns whether both are one function, which may be listed twice.
    fn is_same_function(&self, other: &Candidate) -> bool {
        match (&self.code, &other.code) {
            (Some(a), Some(b)) => {
                let (x, y) = (&a.function, &b.function);
                let has_same_symbol = x.linkage_name.is_some() && x.linkage_name == y.linkage_name;
                has_same_symbol || x.entry == y.entry || overload_rust::are_copies(a, b)
            }
            _ => self.has_parameters_of(other),
        }
    }

    /// Returns whether both have the same parameters.
    pub(super) fn has_parameters_of(&self, other: &Candidate) -> bool {
        let mut pairs = self.types.iter().zip(&other.types);
        self.types.len() == other.types.len()
            && self.has_this == other.has_this
            // A definition has the object's pointer as `T *const`.
            && pairs.all(|(a, b)| a.name() == b.name() || a.strip().name() == b.strip().name())
    }
}

/// Functions that a call may mean, and the arguments that they get.
pub(super) struct Group<'k> {
    pub known: &'k [Candidate],
    /// Whether the first argument is the object.
    pub is_method: bool,
    pub arguments: Vec<Passed>,
}

/// Returns the best function of all groups, and its group's index; an error says why none takes the
/// arguments, or which two are equally good. `typed` is the name in the expression.
pub(super) fn best<'k>(
    groups: &[Group<'k>],
    typed: &str,
) -> Result<Option<(usize, &'k Candidate)>, String> {
    let mut fitting: Vec<Fitting> = Vec::new();
    let mut refused: Option<(&Group, &Candidate, Refusal)> = None;
    for (nth, group) in groups.iter().enumerate() {
        for it in group.known {
            match ranks(it, group, typed) {
                Ok(ranks) => fitting.push(Fitting {
                    group: nth,
                    known: it,
                    ranks,
                    is_method: group.is_method,
                    is_chosen_instance: is_instance(typed),
                }),
                // A refused argument is a better explanation than other parameters.
                Err(why) => match &refused {
                    Some((.., before)) if before.weight() >= why.weight() => {}
                    _ => refused = Some((group, it, why)),
                },
            }
        }
    }
    let Some(mut best) = fitting.first() else {
        return match refused {
            Some((group, known, why)) => {
                let own = usize::from(group.is_method && known.has_this);
                let given = group.arguments.len() - usize::from(group.is_method);
                Err(refusal_message(known, why, own, given))
            }
            None => Ok(None),
        };
    };
    for it in &fitting {
        if it.order(best) == Ordering::Greater {
            best = it;
        }
    }
    let is_rival =
        |it: &&Fitting| it.order(best) != Ordering::Less && !it.known.is_same_function(best.known);
    let needs_object = best.needs_object();
    match fitting.iter().find(is_rival) {
        Some(other) if needs_object && other.needs_object() => Err(needs_object_message(best)),
        Some(Fitting { known: other, .. }) => Err(format!(
            "ambiguous call: candidates are `{}`{} and `{}`{}; cast an argument, or write a more \
             qualified name",
            best.known.name,
            declared_at(best.known),
            other.name,
            declared_at(other),
        )),
        None if needs_object => Err(needs_object_message(best)),
        None => Ok(Some((best.group, best.known))),
    }
}

fn needs_object_message(of: &Fitting<'_>) -> String {
    let name = &of.known.name;
    let last = members::last_component(name);
    format!("`{name}` needs an object: write `object.{last}`")
}

/// Returns whether a function takes all arguments as they are, so that none can be better.
pub(super) fn has_exact(group: &Group<'_>, typed: &str) -> bool {
    let mut ranks = group
        .known
        .iter()
        .filter_map(|it| ranks(it, group, typed).ok());
    ranks.any(|ranks| ranks.iter().all(|rank| rank.is_best()))
}

/// A function that takes the arguments of a call.
struct Fitting<'k> {
    /// The index of its group.
    group: usize,
    known: &'k Candidate,
    /// The rank of each argument, the object first.
    ranks: Vec<Rank>,
    is_method: bool,
    /// Whether the expression has the arguments of a template.
    is_chosen_instance: bool,
}

impl Fitting<'_> {
    /// Compares two functions; greater is better (ISO C++ [over.match.best]). If each is better for
    /// another argument, the one whose worst conversion is better is taken, as g++ does.
    fn order(&self, other: &Fitting<'_>) -> Ordering {
        let order = match self.by_arguments(other) {
            Some(order) => order,
            None => self.worst().cmp(&other.worst()),
        };
        order.then_with(|| self.preference(other).cmp(&other.preference(self)))
    }

    /// Compares the conversions of the arguments. `None`: each function is better for another one.
    fn by_arguments(&self, other: &Fitting<'_>) -> Option<Ordering> {
        let mut order = Ordering::Equal;
        for (a, b) in self.ranks.iter().zip(&other.ranks) {
            match (order, a.partial_cmp(b)?) {
                (_, Ordering::Equal) => {}
                (Ordering::Equal, better) => order = better,
                (before, now) if before == now => {}
                _ => return None,
            }
        }
        Some(order)
    }

    /// Returns the worst conversion of an argument.
    fn worst(&self) -> Fit {
        self.ranks
            .iter()
            .map(|it| it.fit)
            .min()
            .unwrap_or(Fit::Exact)
    }

    /// Returns whether it is a member function that the call gives no object.
    fn needs_object(&self) -> bool {
        !self.is_method && self.known.has_this && self.ranks.len() < self.known.types.len()
    }

    /// Returns what decides between functions whose parameters fit equally well: a type's own
    /// functions hide those of traits, an instance of a template is worse than another function, and
    /// the nearest declaration hides the others.
    fn preference(&self, other: &Fitting<'_>) -> (bool, bool, bool, Reverse<usize>) {
        let code = self.known.code.as_ref();
        (
            self.known.language != Language::Rust || self.known.is_of_class,
            self.is_chosen_instance || !is_instance(&self.known.name),
            // One with a constraint that holds has the same parameters.
            !(self.known.deleted && self.known.has_parameters_of(other.known)),
            Reverse(code.map_or(0, |it| it.nearness)),
        )
    }
}

/// Ranks the arguments of a call for a function's parameters. `typed` is its name in the expression.
fn ranks(known: &Candidate, group: &Group<'_>, typed: &str) -> Result<Vec<Rank>, Refusal> {
    let (types, arguments) = (&known.types[..], &group.arguments[..]);
    let (types, arguments, mut ranks) = match (group.is_method, known.has_this) {
        (true, true) => {
            let object = types.first().zip(arguments.first());
            let accepts = |(ty, object)| conversion::accepts_object(ty, object, known.objects);
            let object = object.map(accepts);
            let object = object.transpose()?;
            (types.get(1..), arguments.get(1..), Vec::from_iter(object))
        }
        // A static member function takes no object.
        (true, false) if !known.takes_object() => {
            (Some(types), arguments.get(1..), vec![Fit::Exact.into()])
        }
        // A member function without an object: it may hide a better one that is static.
        (false, true) if types.len() == arguments.len() + 1 => {
            (types.get(1..), Some(arguments), Vec::new())
        }
        _ => (Some(types), Some(arguments), Vec::new()),
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
        let accepted = conversion::accepts(ty, value, known.language);
        let is_other = match &accepted {
            Ok(rank) => rank.fit < Fit::Exact && !overload_rust::is_settled(known, ty),
            Err(_) => !exact::same(ty, &value.ty),
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
        ranks.push(accepted?);
    }
    let beyond = arguments.len().saturating_sub(types.len());
    ranks.extend(std::iter::repeat_n(Rank::from(Fit::Ellipsis), beyond));
    Ok(ranks)
}

/// Returns the message for a function that is not called.
/// Its first `own` parameters are the object; the call has `given` arguments for the others.
fn refusal_message(known: &Candidate, why: Refusal, own: usize, given: usize) -> String {
    let wanted = known.types.len().saturating_sub(own);
    match why {
        Refusal::Argument(why) => why,
        _ if given < wanted && known.language == Language::Cpp => {
            let missing = match wanted - given {
                1 => "1 argument is missing".to_owned(),
                missing => format!("{missing} arguments are missing"),
            };
            format!(
                "`{}` takes {}: {missing}, and the debug info does not record default arguments; \
                 write all of them",
                known.name,
                parameter_list(known)
            )
        }
        _ => format!("`{}` takes {}", known.name, parameter_list(known)),
    }
}

fn declared_at(known: &Candidate) -> String {
    let code = known.code.as_ref();
    match code.and_then(|it| it.function.declaration.as_ref()) {
        Some(at) => format!(" ({}:{})", at.file.path.display(), at.line),
        None => String::new(),
    }
}

fn parameter_list(known: &Candidate) -> String {
    match &known.types[..] {
        [] => "no arguments".to_owned(),
        types => types.iter().map(Ty::name).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the types of a function's parameters, `this` first.
pub(super) fn parameters(known: &ResolvedFunction) -> Vec<Ty> {
    let all = known.function.scope.variables.iter();
    all.filter(|it| it.kind == VariableKind::Parameter)
        .map(|it| match it.ty {
            Some(id) => Ty::dwarf(&known.module, known.bias, id),
            None => Ty::Void,
        })
        .collect()
}

/// Returns the types that callers pass for a function's parameters: a `float` is promoted if the function has no
/// prototype (ISO C §6.5.2.2).
fn passed_types(known: &ResolvedFunction) -> Vec<Ty> {
    let mut types = parameters(known);
    let is_float = |ty: &Ty| match ty.shape() {
        Shape::Scalar(scalar) => scalar.kind == ScalarKind::Float(Float::Single),
        _ => false,
    };
    if types.iter().any(is_float) && known.module.is_unprototyped(&known.function) {
        let double = || Ty::Builtin(Scalar::new(ScalarKind::Float(Float::Double), 8), "double");
        let promoted = types.iter_mut().filter(|ty| is_float(ty));
        promoted.for_each(|ty| *ty = double());
    }
    types
}

fn has_this(known: &ResolvedFunction) -> bool {
    let mut variables = known.function.scope.variables.iter();
    let first = variables.find(|it| it.kind == VariableKind::Parameter);
    first.is_some_and(|it| it.artificial && matches!(it.name.as_str(), "this" | "__closure"))
}

/// Returns whether a declared function has a name, with the arguments of a template or without.
pub(super) fn is_named(declared: &str, name: &str) -> bool {
    match declared.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.starts_with('<') && is_instance(declared) && !is_instance(name),
        None => false,
    }
}

/// Returns whether a function's name ends in template arguments.
pub(super) fn is_instance(name: &str) -> bool {
    if !name.ends_with('>') {
        return false;
    }
    let mut depth = 0usize;
    let mut open = None;
    for (at, byte) in name.bytes().enumerate().rev() {
        match byte {
            // `fn() -> u8`
            b'>' if name[..at].ends_with('-') => {}
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
            "a::f<(u8, u16), fn(u8) -> u16>",
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
