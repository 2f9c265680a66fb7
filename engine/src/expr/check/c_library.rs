//! Calls of the C library's functions that no debug info declares.

use super::super::ir::{Call, Callee, Expr, Kind};
use super::super::tree::Node;
use super::call::Meant;
use super::{Checked, Checker, Stop, wrong};
use crate::expr::c_library::{self, Prototype};
use crate::expr::conversion::Passed;
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
