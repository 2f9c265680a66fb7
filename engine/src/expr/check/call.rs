//! Calls of functions: of the program, and those of the standard libraries that reading answers.

use super::super::ir::{Call, Callee, Expr, Kind, Storage};
use super::super::tree::{self, Cast, Node};
use super::operators::converted;
use super::rust_calls::clone_without_size;
use super::{Checked, Checker, Stop, c, c_library, wrong};
use crate::expr::conversion::{self, Passed};
use crate::expr::evaluate::inner;
use crate::expr::exact;
use crate::expr::messages;
use crate::expr::overload::{self, Candidate, Group};
use crate::inspect::library;
use crate::inspect::value::base_path::{self, BaseLookup};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::{Language, LoadAddr};

/// Functions that a call may mean, and the arguments that they get.
pub(super) struct Meant<'t> {
    pub known: Vec<Candidate>,
    /// Whether the first argument is the object.
    pub is_method: bool,
    pub arguments: Vec<Expr<'t>>,
}

impl Meant<'_> {
    fn group(&self) -> Group<'_> {
        Group {
            known: &self.known,
            is_method: self.is_method,
            arguments: self.arguments.iter().map(Passed::of).collect(),
        }
    }
}

impl Checker<'_> {
    /// Checks a call; `returns` is the type of a cast around it.
    pub(super) fn call<'t>(
        &self,
        function: &'t Node,
        arguments: &'t [Node],
        returns: Option<&Ty>,
        node: &'t Node,
    ) -> Checked<'t> {
        let cast = self.functional_cast(function, arguments, node);
        if let Some(done) = cast.or_else(|| self.type_name(function, arguments, node)) {
            return done;
        }
        // In Rust, `(x.f)()` calls what the field holds, and `x.f()` a method.
        let is_field =
            self.language == Language::Rust && matches!(function.kind, tree::Kind::Paren(_));
        match &inner(function).kind {
            tree::Kind::Cpp(form, operands) if form.is_member_access() => {
                self.call_by_member(form, operands, arguments, node)
            }
            // A function about callers.
            tree::Kind::Register(_) => Err(Stop::Needs(node)),
            tree::Kind::Member(object, name) if !is_field => {
                self.method_call(object, name, function, arguments, returns, node)
            }
            tree::Kind::Name(name) => self.function_call(name, function, arguments, returns, node),
            _ => {
                let callee = self.check(function)?;
                let arguments = self.arguments(arguments)?;
                self.call_of(callee, arguments, returns, node)
            }
        }
    }

    /// Checks the arguments of a call.
    pub(crate) fn arguments<'t>(&self, nodes: &'t [Node]) -> Result<Vec<Expr<'t>>, Stop<'t>> {
        nodes.iter().map(|node| self.argument(node)).collect()
    }

    fn function_call<'t>(
        &self,
        name: &'t str,
        function: &'t Node,
        arguments: &'t [Node],
        returns: Option<&Ty>,
        node: &'t Node,
    ) -> Checked<'t> {
        if let Some(limit) = self
            .limit_of_std(name, node)
            .filter(|_| arguments.is_empty())
        {
            return Ok(limit);
        }
        let operands = self.operands_to_read("", arguments)?;
        if let Some(call) = self.own_call(name, function, &operands, node)? {
            return Ok(call);
        }
        if self.language == Language::Rust
            && !self.scope.hides_functions(name)
            && name.contains("_of")
        {
            let arguments = self.passed(operands.clone(), arguments)?;
            if let Some(done) = self.size_function(name, &arguments, node) {
                return done;
            }
        }
        if let Some(answer) = self.library_function(name, &operands, node) {
            return Ok(answer);
        }
        if let Some(answer) = self.larger_or_smaller(name, &operands, arguments, node)? {
            return Ok(answer);
        }
        let passed = self.passed(operands, arguments)?;
        self.call_with(name, function, (arguments, passed), returns, node)
    }

    // Separate from `function_call` to keep the recursive function's stack frame small.
    fn call_with<'t>(
        &self,
        name: &'t str,
        function: &'t Node,
        (arguments, passed): (&'t [Node], Vec<Expr<'t>>),
        returns: Option<&Ty>,
        node: &'t Node,
    ) -> Checked<'t> {
        let may_be_known =
            !self.scope.hides_functions(name) && !self.scope.is_chosen_at_run_time(name);
        if may_be_known && let Some(call) = self.call_of_known(name, (arguments, &passed), node)? {
            return Ok(call);
        }
        let callee = self.check(function);
        if let Some(call) = self.c_library_call(name, &callee, &passed, node)? {
            return Ok(call);
        }
        // A number or an array with the name of a type does not hide it: `int(x)`.
        let may_be_type = match &callee {
            Ok(callee) => matches!(
                callee.ty.shape(),
                Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Array(_)
            ),
            Err(_) => true,
        };
        if may_be_type
            && (self.language == Language::Cpp || passed.len() == 1)
            && let Some(ty) = self.scope.find_type(name)
        {
            if let Some(made) = self.string_of_text(&ty, &passed, node) {
                return Ok(made);
            }
            if let Some(made) = self.constructor_call(&ty, passed.clone(), 0, node)? {
                return Ok(made);
            }
            if let Some(made) = self.aggregate_of(&ty, &passed, arguments, node) {
                return made;
            }
            if let [operand] = &passed[..] {
                self.may_be_made(operand, &ty, node)?;
                return self.cast_to(Cast::Usual, operand.clone(), ty, node);
            }
        }
        match callee {
            Ok(callee) => self.call_of(callee, passed, returns, node),
            Err(_) if may_be_known && self.is_only_inlined(name) => {
                Err(wrong(messages::only_inlined(name), &function.span))
            }
            Err(stop) => Err(stop),
        }
    }

    /// Returns whether the program has functions of Rust with a name, but inlined all their calls.
    fn is_only_inlined(&self, name: &str) -> bool {
        self.language == Language::Rust && !self.scope.inlined_functions(name).is_empty()
    }

    /// Checks a call of the best function of a name whose debug info is known, or of a template of C++'s library;
    /// `None` if there is none.
    fn call_of_known<'t>(
        &self,
        name: &'t str,
        (arguments, passed): (&'t [Node], &[Expr<'t>]),
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        // What cannot be called may be known by its definition.
        if !self.scope.may_call()
            && let Some(done) = self.template_of_std(name, (passed, arguments), node)?
        {
            return Ok(Some(done));
        }
        let mut meant = Meant {
            known: self.functions_called(name, passed)?,
            is_method: false,
            arguments: passed.to_vec(),
        };
        self.add_inlined(&mut meant, name);
        if self.is_overloaded_c(&meant, name) {
            meant.known.clear();
        }
        let mut found = self.best_of(vec![meant], name, node);
        if let Ok(Some(call)) = &mut found {
            c_library::name_as_typed(call, name);
        }
        if !matches!(found, Ok(None) | Err(Stop::Wrong(_))) {
            return found;
        }
        match self.template_of_std(name, (passed, arguments), node)? {
            Some(done) => Ok(Some(done)),
            None => found,
        }
    }

    /// Returns the candidates for a call by a name. These are the visible functions of that name. C++ adds the
    /// functions in the namespaces of the arguments' types, unless a member function or a class of that name is
    /// visible.
    fn functions_called<'t>(
        &self,
        name: &str,
        arguments: &[Expr<'t>],
    ) -> Result<Vec<Candidate>, Stop<'t>> {
        let known = self.scope.functions(name).map_err(Stop::Wrong)?;
        let mut known: Vec<Candidate> = known.into_iter().map(Candidate::of).collect();
        if known.is_empty() && self.language == Language::Rust {
            known = self.associated_functions(name)?;
        }
        if known.is_empty() && self.language == Language::Rust {
            let meant = self.functions_meant(name).into_iter();
            known = meant.map(Candidate::of).collect();
        }
        let spaces = self.associated_names(name, arguments);
        let is_other = || match known.is_empty() {
            true => self.scope.find_type(name).is_some(),
            false => known.iter().any(|it| it.is_of_class),
        };
        if !spaces.is_empty() && !is_other() {
            known.extend(self.associated(&spaces, &known)?);
        }
        Ok(known)
    }

    /// Adds functions whose calls are all inlined, if they may fit better than those with code.
    fn add_inlined(&self, meant: &mut Meant<'_>, typed: &str) {
        let is_cpp = self.language == Language::Cpp && !meant.known.is_empty();
        if !is_cpp || overload::has_exact(&meant.group(), typed) {
            return;
        }
        let associated = self.associated_names(typed, &meant.arguments);
        let found = associated
            .iter()
            .flat_map(|name| self.scope.inlined_functions(name));
        let overloads = self.scope.inlined_functions(typed);
        let overloads = overloads.into_iter().filter(|(.., function)| {
            let mut known = meant.known.iter();
            known.any(|it| it.name == function.name)
        });
        for (module, bias, function) in found.chain(overloads).collect::<Vec<_>>() {
            let inlined = Candidate::inlined(&module, bias, &function);
            let is_it = |it: &Candidate| it.name == inlined.name && it.has_parameters_of(&inlined);
            if !meant.known.iter().any(is_it) {
                meant.known.push(inlined);
            }
        }
    }

    /// Checks `Rc::strong_count(&x)`, `std::get<0>(x)`: functions of the libraries that reading
    /// answers.
    fn library_function<'t>(
        &self,
        path: &str,
        operands: &[Expr<'t>],
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        let may_be_known = match self.language {
            Language::Rust => path.contains("::"),
            Language::Cpp => path.starts_with("std::") && path.ends_with('>'),
            Language::C => false,
        };
        if !may_be_known || operands.is_empty() {
            return None;
        }
        let mut operands = operands.to_vec();
        let types: Vec<Ty> = operands.iter().map(|it| it.ty.clone()).collect();
        let method = library::function(path, &types)?;
        let mut object = operands.remove(0);
        while let (Shape::Pointer(of, _), true) =
            (object.ty.shape(), library::names(&object.ty).is_empty())
        {
            object = Expr::new(Kind::Deref(Box::new(object)), of, node);
        }
        operands.insert(0, object);
        Some(Expr::answer(method, operands, node))
    }

    /// Returns a call of the best of these functions; `None` if there is none.
    pub(crate) fn best_call<'t>(
        &self,
        known: &[Candidate],
        is_method: bool,
        typed: &str,
        arguments: Vec<Expr<'t>>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let meant = Meant {
            known: known.to_vec(),
            is_method,
            arguments,
        };
        self.best_of(vec![meant], typed, node)
    }

    /// Returns a call of the best function of several groups; `None` if there is none.
    pub(super) fn best_of<'t>(
        &self,
        mut meant: Vec<Meant<'t>>,
        typed: &str,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        for group in &mut meant {
            group.arguments = self.made_for(std::mem::take(&mut group.arguments), &group.known)?;
        }
        let groups: Vec<Group> = meant.iter().map(Meant::group).collect();
        match overload::best(&groups, typed) {
            Ok(Some((nth, best))) => {
                let best = best.clone();
                let group = meant.swap_remove(nth);
                let skipped = usize::from(group.is_method && !best.takes_object());
                let arguments = group.arguments.into_iter().skip(skipped).collect();
                self.call_to(&best, arguments, node).map(Some)
            }
            Ok(None) => Ok(None),
            Err(why) => Err(wrong(why, &node.span)),
        }
    }

    /// Returns the code of a declared function in a library without debug info.
    pub(super) fn code_of_library(&self, declared: &Candidate) -> Option<LoadAddr> {
        self.scope.code_of_symbol(declared.symbol.as_deref()?)
    }

    fn call_to<'t>(
        &self,
        best: &Candidate,
        arguments: Vec<Expr<'t>>,
        node: &'t Node,
    ) -> Checked<'t> {
        let callee = match (best.slot, &best.code) {
            (Some(slot), _) => Callee::Slot(slot),
            (None, Some(known)) => Callee::Code(known.bias.load(known.function.entry)),
            (None, None) => match self.code_of_library(best) {
                Some(entry) => Callee::Code(entry),
                None => return Err(wrong(best.why_not_callable(), &node.span)),
            },
        };
        let call = Call {
            name: best.name.clone(),
            callee,
            arguments: self.with_conversions(arguments, &best.types, node)?,
            types: best.types.clone(),
            language: best.language,
            node,
            step: 0,
        };
        let own = clone_without_size(best, &call.arguments);
        let call = Expr::new(Kind::Call(Box::new(call)), best.returns.clone(), node);
        Ok(match own {
            Some(own) => Expr::new(Kind::Retyped(Box::new(call)), own, node),
            None => call,
        })
    }

    /// Converts arguments to the types of their parameters: literals without a type of their own, the
    /// numbers of C, and objects to the base that a reference binds to.
    pub(super) fn with_conversions<'t>(
        &self,
        arguments: Vec<Expr<'t>>,
        types: &[Ty],
        node: &'t Node,
    ) -> Result<Vec<Expr<'t>>, Stop<'t>> {
        let converted = |(nth, argument): (usize, Expr<'t>)| match types.get(nth) {
            Some(ty)
                if let Kind::Variable(Storage::Global, _, named, _) = argument.kind
                    && let Some(function) = self.function_as(ty, named)? =>
            {
                Ok(function)
            }
            Some(ty) if argument.open => self.typed(argument, ty),
            Some(ty) => match exact::reference(ty) {
                Some((base, _)) => {
                    let argument = self.converted_argument(argument, ty, nth, node)?;
                    self.base_of_argument(argument, &base, node)
                }
                None if self.language != Language::Rust
                    && c::is_arithmetic(ty)
                    && c::is_arithmetic(&argument.ty) =>
                {
                    Ok(converted(argument, ty))
                }
                None => {
                    let argument = self.converted_argument(argument, ty, nth, node)?;
                    match ty.shape() {
                        Shape::Composite(_) => self.base_of_argument(argument, ty, node),
                        _ => Ok(argument),
                    }
                }
            },
            _ => Ok(argument),
        };
        arguments.into_iter().enumerate().map(converted).collect()
    }

    /// Returns the part of an object that a reference to one of its bases binds to, or that a base is
    /// a copy of; other arguments as they are.
    pub(super) fn base_of_argument<'t>(
        &self,
        of: Expr<'t>,
        base: &Ty,
        node: &'t Node,
    ) -> Checked<'t> {
        let class = Passed::of(&of).ty;
        if exact::same(&class, base) || !exact::derives(&class, base) {
            return Ok(of);
        }
        match base_path::find(&class, &|it| exact::same(it, base)) {
            BaseLookup::Found(way) => Ok(Expr::part(self.referent(of), way, node)),
            BaseLookup::Ambiguous => {
                let (class, base) = (class.name(), base.name());
                let message = format!("ambiguous: `{class}` has several bases `{base}`");
                Err(wrong(message, &of.span))
            }
            BaseLookup::Absent => Ok(of),
        }
    }

    /// Checks a call of the function that a pointer refers to, or of one without debug info, whose
    /// return type then is that of a cast.
    pub(super) fn call_of<'t>(
        &self,
        callee: Expr<'t>,
        arguments: Vec<Expr<'t>>,
        returns: Option<&Ty>,
        node: &'t Node,
    ) -> Checked<'t> {
        if let Some(call) = self.closure_call(&callee, &arguments, node)? {
            return Ok(call);
        }
        let callee = self.referent(callee);
        let ty = match callee.ty.shape() {
            Shape::Pointer(of, _) if matches!(of.shape(), Shape::Function) => of.strip(),
            Shape::Function => callee.ty.strip(),
            _ => {
                if let Some(call) = self.object_call(&callee, &arguments, node)? {
                    return Ok(call);
                }
                let message = format!("cannot call a `{}`", callee.ty.name());
                return Err(wrong(message, &node.span));
            }
        };
        let source = self.source_text(node);
        let (types, returns): (Vec<Ty>, Ty) = match (ty.signature(), returns) {
            (Some(known), _) => {
                self.accepted(&known.parameters, known.is_variadic, &arguments, node)?;
                (known.parameters, known.returns)
            }
            (None, Some(returns)) => (Vec::new(), returns.clone()),
            (None, None) => {
                let message = format!(
                    "unknown return type of `{source}`; cast the call, for example `(int){source}`"
                );
                return Err(wrong(message, &node.span));
            }
        };
        let call = Call {
            name: source.to_owned(),
            callee: Callee::Pointer(callee),
            arguments: self.with_conversions(arguments, &types, node)?,
            types,
            language: self.language,
            node,
            step: 0,
        };
        Ok(Expr::new(Kind::Call(Box::new(call)), returns, node))
    }

    /// Checks the arguments for a function pointer's parameters.
    pub(super) fn accepted<'t>(
        &self,
        types: &[Ty],
        variadic: bool,
        arguments: &[Expr<'_>],
        node: &'t Node,
    ) -> Result<(), Stop<'t>> {
        if arguments.len() < types.len() || arguments.len() > types.len() && !variadic {
            let message = format!("expected {} arguments", types.len());
            return Err(wrong(message, &node.span));
        }
        for (ty, argument) in types.iter().zip(arguments) {
            let passed = Passed::of(argument);
            conversion::accepts(ty, &passed, self.language)
                .map_err(|why| wrong(why.of_pointer(ty, &passed), &node.span))?;
        }
        Ok(())
    }

    /// Returns an expression itself, or the target if it is a C++ reference.
    pub(super) fn referent<'t>(&self, of: Expr<'t>) -> Expr<'t> {
        match of.ty.shape() {
            Shape::Pointer(to, PointerKind::Reference) => of.target(to),
            _ => of,
        }
    }
}
