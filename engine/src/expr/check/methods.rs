//! Calls of methods: of the standard libraries' classes by reading, of the program's classes by a
//! call.

use super::super::ir::{Expr, Kind};
use super::super::tree::{self, Node};
use super::call::Meant;
use super::cpp_members::split_last;
use super::rust_made::Access;
use super::{Checked, Checker, Stop, rust_types, wrong};
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::expr::exact;
use crate::expr::messages;
use crate::expr::overload::{self, Candidate};
use crate::expr::suggest;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::base_path::{self, BaseLookup};
use crate::inspect::value::path::Part;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use dwarf::Language;
use std::sync::Arc;

/// Maximum nesting of bases whose functions are examined.
const BASES: usize = 16;
/// The first call of `operator->` for a node.
const ARROW: u32 = 16;

impl Checker<'_> {
    /// Checks `object.name(arguments)`.
    pub(super) fn method_call<'t>(
        &self,
        object: &'t Node,
        name: &'t str,
        member: &'t Node,
        arguments: &'t [Node],
        returns: Option<&Ty>,
        node: &'t Node,
    ) -> Checked<'t> {
        if let Some(iteration) = self.iteration(object, name, arguments, node)? {
            return Ok(iteration);
        }
        let of = self.check(object)?;
        let of = match self.is_arrow(object) {
            true => self.behind_arrow(of, node)?,
            false => of,
        };
        if let Some(done) = self.with_closure(&of, name, arguments, node) {
            return done;
        }
        if let Some(done) = self.pointer_method(&of, name, arguments, node) {
            return done;
        }
        if self.language == Language::Rust
            && let Some(done) = self.special_method(&of, object, (name, arguments), node)
        {
            return done;
        }
        let operands = self.operands_to_read(name, arguments)?;
        if let Some(answer) = self.answer(&of, name, &operands, node)? {
            return Ok(answer);
        }
        let arguments = self.passed(operands, arguments)?;
        if let Some(call) = self.member_function(of.clone(), name, &arguments, node)? {
            return Ok(call);
        }
        if let Some(call) = self.rust_method(&of, name, &arguments, node)? {
            return Ok(call);
        }
        if let Some(call) = self.text_of_exception(&of, name, &arguments, node) {
            return Ok(call);
        }
        if self.is_only_inlined_method(&of.ty, name) {
            let span = self.last_name(inner(member), name);
            return Err(wrong(messages::only_inlined(name), &span));
        }
        // A member that is a pointer to a function.
        let ty = of.ty.clone();
        match self.named_member(of, name, inner(member)) {
            Ok(held) => self.call_of(held, arguments, returns, node),
            Err(_) => {
                let error = self.no_method(&ty, name, object, inner(member));
                Err(Stop::Wrong(error))
            }
        }
    }

    /// Returns whether the compiler has inlined all calls of a method of a type of Rust. False for methods that the
    /// debugger answers by reading: there the arguments are wrong.
    fn is_only_inlined_method(&self, ty: &Ty, name: &str) -> bool {
        if suggest::method_names(ty).contains(&name) {
            return false;
        }
        let mut ty = ty.clone();
        while let Shape::Pointer(of, PointerKind::Owned) = ty.shape() {
            ty = of;
        }
        let class = exact::with_functions(&ty).filter(|_| self.language == Language::Rust);
        class.is_some_and(|class| {
            let mut names = exact::names_in(&class, name).into_iter();
            names.any(|it| !class.module().inlined_named(&it).is_empty())
        })
    }

    /// Returns whether the source has `->` after an object. The tree has one node for `->` and `.`,
    /// which access the same members; only member functions of a smart pointer differ from those of
    /// its object.
    pub(super) fn is_arrow(&self, object: &Node) -> bool {
        let behind = self.text.get(object.span.end..).unwrap_or_default();
        let behind = behind.trim_start_matches(|it: char| it == ')' || it.is_whitespace());
        behind.starts_with("->")
    }

    /// Returns the target of `->` on an object of a C++ class: what a library's class stands for, or
    /// the result of its `operator->`.
    pub(super) fn behind_arrow<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        let mut of = self.referent(of);
        for nth in 0..DEREFERENCES {
            if self.language != Language::Cpp || !matches!(of.ty.shape(), Shape::Composite(_)) {
                break;
            }
            if let Some(Contents::Pointee(to) | Contents::Wrapped(to) | Contents::Optional(to)) =
                library::contents(&of.ty)
            {
                return Ok(Expr::new(Kind::Pointee(Box::new(of)), to, node));
            }
            match self.member_function(of.clone(), "operator->", &[], node)? {
                Some(next) => of = self.referent(next.step(ARROW + nth as u32)),
                None => break,
            }
        }
        Ok(of)
    }

    /// Checks a method that reading answers, of the object or of what it points to.
    pub(super) fn answer<'t>(
        &self,
        object: &Expr<'t>,
        name: &str,
        operands: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let mut objects = vec![object.clone()];
        // A clone of an `Rc` is one.
        let is_clone = name == "clone" && self.language == Language::Rust;
        for _ in 0..DEREFERENCES {
            let last = objects.last();
            let last = last.filter(|it| !is_clone || rust_types::is_reference(&it.ty));
            match last.and_then(|last| dereferenced(last, node)) {
                Some(next) => objects.push(next),
                None => break,
            }
        }
        if !objects.iter().any(|it| library::has(&it.ty, name)) {
            return Ok(None);
        }
        let types: Vec<Ty> = operands.iter().map(|it| it.ty.clone()).collect();
        let found = objects.into_iter().find_map(|object| {
            // Of the functions with these names the ones for constant objects are meant.
            let name = match name {
                "begin" if exact::is_const_object(&object) => "cbegin",
                "end" if exact::is_const_object(&object) => "cend",
                name => name,
            };
            let method = library::method(&object.ty, name, &types)?;
            Some((object, method))
        });
        let Some((object, method)) = found else {
            return Ok(None);
        };
        let mut all = vec![object];
        for (nth, operand) in operands.iter().cloned().enumerate() {
            all.push(match method.parameters.get(nth) {
                Some(Some(ty)) if operand.open => {
                    let to = library::referent_type(ty);
                    let value = self.typed(operand, &to)?;
                    // `&0` for an option of references: its value would be taken for an address.
                    let is_passed_on = self.language == Language::Rust
                        && rust_types::is_reference(ty)
                        && value.ty.same_as(&to);
                    match is_passed_on {
                        true => self.reference_to(value, Access::Shared, node),
                        false => value,
                    }
                }
                _ => operand,
            });
        }
        let is_const = self.language == Language::Cpp
            && (name == "c_str"
                || all.first().is_some_and(exact::is_const_object)
                || name == "data" && all.first().is_some_and(|it| is_view(&it.ty)));
        let mut answer = Expr::answer(method, all, node);
        if let (true, Shape::Pointer(of, PointerKind::Raw)) = (is_const, answer.ty.shape()) {
            answer.ty = of.constant().pointer();
        }
        Ok(Some(answer))
    }

    /// Checks arguments for reading: `&2` is 2, and a memory order is nothing.
    pub(super) fn operands_to_read<'t>(
        &self,
        name: &str,
        arguments: &'t [Node],
    ) -> Result<Vec<Expr<'t>>, Stop<'t>> {
        let operand = |node: &'t Node| match &inner(node).kind {
            tree::Kind::Name(_) if name == "load" => {
                Ok(Expr::new(Kind::Constant(0), super::c::int(), node))
            }
            tree::Kind::AddressOf(of) if self.language == Language::Rust => self.check(of),
            _ => self.argument(node),
        };
        arguments.iter().map(operand).collect()
    }

    /// Returns arguments that were checked for reading as those of a call: `&x` is an address.
    pub(super) fn passed<'t>(
        &self,
        operands: Vec<Expr<'t>>,
        nodes: &'t [Node],
    ) -> Result<Vec<Expr<'t>>, Stop<'t>> {
        let passed = |(operand, node): (Expr<'t>, &'t Node)| match &inner(node).kind {
            tree::Kind::AddressOf(_) if self.language == Language::Rust => {
                Ok(self.reference_to(operand, Access::Shared, node))
            }
            _ => Ok(operand),
        };
        operands.into_iter().zip(nodes).map(passed).collect()
    }

    /// Checks `object.name(…)`, a function of the object's class or one of its bases; `None` if there
    /// is none.
    pub(crate) fn member_function<'t>(
        &self,
        object: Expr<'t>,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let holder = behind_pointers(object);
        if let Some((scope, name)) = split_last(name).filter(|_| self.language == Language::Cpp) {
            return self.function_of_base(holder, scope, name, arguments, node);
        }
        match self.methods_named(holder, name, arguments, node)? {
            Some(meant) => self.best_of(vec![meant], name, node),
            None => Ok(None),
        }
    }

    /// Returns the functions of that name of an object's class, or else those of its first base that
    /// has some.
    pub(super) fn methods_named<'t>(
        &self,
        object: Expr<'t>,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Meant<'t>>, Stop<'t>> {
        let mut refused = None;
        let found = self.methods_within(object, name, arguments, node, &mut refused, BASES)?;
        match (found, refused) {
            (None, Some(why)) => Err(wrong(why, &node.span)),
            (found, _) => Ok(found),
        }
    }

    /// Checks `object.Base::name(…)`: the function of that class or of its bases, whatever the
    /// object's dynamic class is.
    fn function_of_base<'t>(
        &self,
        object: Expr<'t>,
        scope: &str,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let class = object.ty.clone();
        let base = match self.base_named(&class, scope) {
            BaseLookup::Found(way) => Expr::part(object, way, node),
            BaseLookup::Ambiguous => {
                let message = format!("ambiguous: `{}` has several bases `{scope}`", class.name());
                return Err(wrong(message, &node.span));
            }
            BaseLookup::Absent => {
                let message = format!("`{}` has no base `{scope}`", class.name());
                return Err(wrong(message, &node.span));
            }
        };
        let declares = |ty: &Ty| match ty.shape() {
            Shape::Composite(class) => self
                .functions_of(&class, name)
                .is_ok_and(|it| !it.0.is_empty()),
            _ => false,
        };
        let holder = match base_path::find(&base.ty, &declares) {
            BaseLookup::Found(way) => Expr::part(base, way, node),
            BaseLookup::Ambiguous => {
                let class = base.ty.name();
                let message = format!("ambiguous: several bases of `{class}` have `{name}`");
                return Err(wrong(message, &node.span));
            }
            BaseLookup::Absent => return Ok(None),
        };
        let Shape::Composite(class) = holder.ty.shape() else {
            return Ok(None);
        };
        let (mut own, _) = self.functions_of(&class, name)?;
        for known in &mut own {
            known.slot = None;
        }
        self.best_call(&own, true, name, with_object(holder, arguments, node), node)
    }

    fn methods_within<'t>(
        &self,
        holder: Expr<'t>,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
        refused: &mut Option<String>,
        depth: usize,
    ) -> Result<Option<Meant<'t>>, Stop<'t>> {
        let Some(class) = exact::with_functions(&holder.ty) else {
            return Ok(None);
        };
        let (mut own, other) = self.functions_of(&class, name)?;
        if !own.is_empty() {
            let all = match self.language {
                // By reference or by value.
                Language::Rust => [&[holder], arguments].concat(),
                // A copy is passed. Its dynamic class is known.
                _ if !holder.is_place() => {
                    for known in &mut own {
                        known.slot = None;
                    }
                    [&[holder], arguments].concat()
                }
                _ => with_object(holder, arguments, node),
            };
            return Ok(Some(Meant {
                known: own,
                is_method: true,
                arguments: all,
            }));
        }
        if let Some(other) = other {
            refused.get_or_insert_with(|| not_in_program(&class, name, &other));
        }
        let bases = class.composite().map_or(0, |it| it.bases.len());
        for index in 0..bases {
            if depth == 0 {
                break;
            }
            let part = Part::Base(Arc::clone(&class), index);
            let Some(ty) = part.base().map(|base| class.related(base.ty)) else {
                continue;
            };
            let base = Expr::new(Kind::Part(Box::new(holder.clone()), part), ty, node);
            let found = self.methods_within(base, name, arguments, node, refused, depth - 1)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the functions of a name that are members of exactly this class; otherwise the other
    /// type that has a function of this name: another instantiation of the same template.
    pub(super) fn functions_of<'t>(
        &self,
        class: &Arc<DwarfTy>,
        name: &str,
    ) -> Result<(Vec<Candidate>, Option<String>), Stop<'t>> {
        let mut other = None;
        let mut own: Vec<Candidate> = Vec::new();
        for name in exact::names_in(class, name) {
            for known in self.scope.functions(&name).map_err(Stop::Wrong)? {
                match exact::is_member(&known, class) {
                    Ok(()) => own.push(Candidate::of(known)),
                    Err(of) => other = other.or(Some(of)),
                }
            }
            if !own.is_empty() {
                break;
            }
        }
        if own.is_empty() {
            own = self.by_symbols(class, name);
        }
        if class.language() == Language::Cpp {
            self.add_declared(&mut own, class, name);
        }
        let is_callable = |it: &Candidate| {
            let is_known = it.code.is_some() || it.slot.is_some() || it.deleted;
            is_known || other.is_some() && self.code_of_library(it).is_some()
        };
        match own.iter().any(is_callable) {
            true => Ok((own, None)),
            false if other.is_some() => Ok((Vec::new(), other)),
            false => Ok((own, None)),
        }
    }

    /// Adds the functions that a class declares without debug info of their code: a library may have
    /// it, calls of virtual ones need none, and the others hide those that fit worse. Gives those with
    /// code their positions in the virtual table.
    fn add_declared(&self, own: &mut Vec<Candidate>, class: &Arc<DwarfTy>, name: &str) {
        let declared = class.module().methods(class.ty.id);
        let bare = class.ty.name.split('<').next().unwrap_or_default();
        let is_constructor = members::last_component(bare) == name;
        for method in declared
            .iter()
            .filter(|it| overload::is_named(&it.name, name))
        {
            let candidate = Candidate::declared(class, method);
            let is_it = |known: &&mut Candidate| {
                let code = known.code.as_ref();
                let symbol = code.map(|it| it.function.linkage_name.as_deref());
                match (symbol, method.linkage_name.as_deref()) {
                    // gcc declares a constructor by a symbol that no code has.
                    (Some(Some(a)), Some(b)) => {
                        a == b || is_constructor && known.has_parameters_of(&candidate)
                    }
                    (Some(_), _) => known.has_parameters_of(&candidate),
                    (None, _) => false,
                }
            };
            match own.iter_mut().find(is_it) {
                Some(known) => {
                    known.slot = method.slot;
                    known.objects = method.objects;
                }
                None => own.push(candidate),
            }
        }
    }
}

/// Returns whether a class refers to text that it does not let change.
fn is_view(ty: &Ty) -> bool {
    let name = ty.strip().name();
    name.starts_with("std::") && name.contains("string_view")
}

/// Returns the object that pointers and references lead to.
pub(super) fn behind_pointers(mut of: Expr<'_>) -> Expr<'_> {
    for _ in 0..DEREFERENCES {
        match of.ty.shape() {
            Shape::Pointer(to, _) => of = of.target(to),
            _ => break,
        }
    }
    of
}

/// Returns the arguments of a C++ member function: the object's address first.
pub(super) fn with_object<'t>(
    object: Expr<'t>,
    arguments: &[Expr<'t>],
    node: &'t Node,
) -> Vec<Expr<'t>> {
    let ty = match exact::is_const_object(&object) {
        true => object.ty.clone().constant().pointer(),
        false => object.ty.clone().pointer(),
    };
    let this = Expr::new(Kind::AddressOf(Box::new(object)), ty, node);
    [&[this], arguments].concat()
}

/// Returns what an object points to: a reference, a pointer, a class that stands for another object.
fn dereferenced<'t>(of: &Expr<'t>, node: &'t Node) -> Option<Expr<'t>> {
    match of.ty.shape() {
        Shape::Pointer(to, _) => Some(of.clone().target(to)),
        // `opt.size()` of an optional string: C++ has `->` for that.
        _ => match library::contents(&of.ty)? {
            // In Rust neither cells nor atomics stand for their values.
            Contents::Wrapped(_) if of.ty.language() == Language::Rust => None,
            Contents::Pointee(to) | Contents::Wrapped(to) => {
                Some(Expr::new(Kind::Pointee(Box::new(of.clone())), to, node))
            }
            _ => None,
        },
    }
}

/// Returns the message for a member function that was never instantiated in the program.
fn not_in_program(class: &Arc<DwarfTy>, name: &str, other: &str) -> String {
    let own = Ty::Dwarf(Arc::clone(class)).name();
    let remedy = match class.ty.name.contains('<') && class.language() == Language::Cpp {
        true => "use it in the program, or instantiate the class there (`template struct …;`)",
        false => "use it in the program",
    };
    format!("no callable `{name}` of `{own}` in the program, only that of `{other}`; {remedy}")
}
