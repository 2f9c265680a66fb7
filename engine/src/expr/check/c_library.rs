//! The C library: calls of functions that no debug info declares, and constants of its headers.

use super::super::ir::{Call, Callee, Expr, Kind};
use super::super::tree::Node;
use super::call::Meant;
use super::{Checked, Checker, Stop, wrong};
use crate::expr::c_library::{self, Prototype};
use crate::expr::conversion::Passed;
use crate::expr::header_constants;
use crate::ids::error::Error;
use crate::inspect::value::Ty;
use dwarf::Language;

impl Checker<'_> {
    /// Returns whether the only known function is one of C whose name has another overload for these arguments in
    /// C++: `std::abs(double)` may have no code.
    pub(super) fn is_overloaded_c(&self, meant: &Meant<'_>, name: &str) -> bool {
        let of_c = || meant.known.iter().all(|it| it.language == Language::C);
        let types = |of: &Expr<'_>| Passed::of(of).ty;
        self.language == Language::Cpp && !meant.known.is_empty() && of_c() && {
            let passed: Vec<Ty> = meant.arguments.iter().map(types).collect();
            Prototype::has_overload(name, &passed, self.scope.c_types())
        }
    }

    /// Checks a call by a name, which by itself means `callee`: `None` if it is no function of the C library, or
    /// if debug info has its types.
    pub(super) fn c_library_call<'t>(
        &self,
        name: &str,
        callee: &Checked<'t>,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let is_untyped = match callee {
            Ok(callee) => matches!(callee.ty.strip(), Ty::Function(_)),
            Err(Stop::Wrong(Error::UnknownName { .. })) => true,
            Err(_) => false,
        };
        if !is_untyped {
            return Ok(None);
        }
        if let Some(constant) = self.computed_constant(name, arguments, node) {
            return Ok(Some(constant));
        }
        let passed: Vec<Ty> = arguments.iter().map(|it| Passed::of(it).ty).collect();
        let known = Prototype::called(name, &passed, self.language, self.scope.c_types());
        let Some(known) = known else {
            return Ok(None);
        };
        let known = known.map_err(|why| wrong(why, &node.span))?;
        self.accepted(&known.parameters, false, arguments, node)?;
        let call = Call {
            name: known.name.clone(),
            callee: Callee::CLibrary(known.name),
            arguments: self.with_conversions(arguments.to_vec(), &known.parameters, node)?,
            types: known.parameters,
            language: self.language,
            node,
            step: 0,
        };
        let kind = Kind::Call(Box::new(call));
        Ok(Some(Expr::new(kind, known.returns, node)))
    }

    /// Checks a call by which headers define a constant: `__builtin_inff()`, `__builtin_nanf("")`.
    fn computed_constant<'t>(
        &self,
        function: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        let name = header_constants::computed(function)?;
        let is_plain = match arguments {
            [] => name != "NAN",
            // Other texts choose another pattern of bits.
            [only] => name == "NAN" && self.source_of(only) == "\"\"",
            _ => false,
        };
        let (ty, bits) = header_constants::named(name, self.scope.c_types())?;
        let is_of_c = is_plain && self.language != Language::Rust;
        is_of_c.then(|| Expr::new(Kind::Constant(bits), ty, node))
    }

    /// Checks a name that nothing else has: `INT_MAX`, `ENOENT`. `None`: the headers of the C library define no
    /// such constant, the program declares the name, or the compiler recorded the macros, which alone count then.
    pub(super) fn constant_of_c_library<'t>(&self, name: &str, node: &'t Node) -> Option<Expr<'t>> {
        if self.language == Language::Rust {
            return None;
        }
        let (ty, bits) = header_constants::named(name, self.scope.c_types())?;
        let is_of_program = self.scope.has_macros() && header_constants::predefined(name).is_none()
            || self.scope.declares(name)
            || self.scope.data_of_symbol(name).is_some();
        (!is_of_program).then(|| Expr::new(Kind::Constant(bits), ty, node))
    }
}

/// Gives a call of the C library's function its name in the expression: debug info of the library may have
/// another one (`__strtol`), by which its effects are not known.
pub(super) fn name_as_typed(of: &mut Expr<'_>, typed: &str) {
    if let Kind::Call(call) = &mut of.kind
        && call.language == Language::C
        && c_library::has(typed)
    {
        typed.clone_into(&mut call.name);
    }
}
