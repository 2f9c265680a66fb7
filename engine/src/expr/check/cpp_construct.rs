//! Objects of C++ that the program's constructors make, and arguments that classes convert.

use super::super::ir::{Call, Callee, Expr, Kind};
use super::super::tree::{self, Node};
use super::super::types::{Layer, TypeName};
use super::cpp_objects::{self, Wanted};
use super::objects::is_text;
use super::{Checked, Checker, Stop, c, wrong};
use crate::expr::conversion::Passed;
use crate::expr::overload::{self, Candidate, Group};
use crate::expr::{exact, ownership};
use crate::inspect::library;
use crate::inspect::value::members::last_component;
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

/// The first conversion of an argument of a call.
const ARGUMENT: u32 = 64;
/// The conversion of a branch, counted as an argument.
const BRANCH: usize = 512;

impl Checker<'_> {
    /// Checks `std::string(text)`: a string that the expression makes; `None`: it is none.
    pub(super) fn string_of_text<'t>(
        &self,
        ty: &Ty,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        let [text] = arguments else {
            return None;
        };
        let is_made = self.language == Language::Cpp && is_text(&text.ty);
        let types = std::slice::from_ref(&text.ty);
        let method = is_made.then(|| library::method(ty, library::MADE, types))??;
        // There is no object yet, and none is read.
        let nowhere = Expr::new(Kind::Constant(0), ty.clone().pointer(), node);
        let object = Expr::new(Kind::Deref(Box::new(nowhere)), ty.clone(), node);
        Some(Expr::answer(method, vec![object, text.clone()], node))
    }

    /// Checks `T(a, b)` of a class that has constructors; `None`: it has none.
    pub(super) fn constructor_call<'t>(
        &self,
        ty: &Ty,
        arguments: Vec<Expr<'t>>,
        step: u32,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let Shape::Composite(class) = ty.shape() else {
            return Ok(None);
        };
        if self.language != Language::Cpp || !cpp_objects::has_constructors(&class) {
            return Ok(None);
        }
        let name = ty.name();
        if ownership::is_destroyed(ty) {
            let message = format!(
                "cannot make a `{name}`: nothing would run its destructor; use an object of the \
                 program"
            );
            return Err(wrong(message, &node.span));
        }
        let bare = class.ty.name.split('<').next().unwrap_or_default();
        let bare = last_component(bare);
        let (known, _) = self.functions_of(&class, bare)?;
        let known: Vec<Candidate> = known.into_iter().filter(|it| it.has_this).collect();
        // The caller provides the memory of the object.
        let this = Expr::new(Kind::Constant(0), ty.clone().pointer(), node);
        let passed = std::iter::once(&this).chain(&arguments);
        let group = Group {
            known: &known,
            is_method: true,
            arguments: passed.map(Passed::of).collect(),
        };
        let best = overload::best(&[group], bare).map_err(|why| wrong(why, &node.span))?;
        let Some((_, best)) = best else {
            let message = format!(
                "no callable constructor of `{name}` in the program: use an object of the program"
            );
            return Err(wrong(message, &node.span));
        };
        let Some(code) = &best.code else {
            return Err(wrong(best.why_not_callable(), &node.span));
        };
        let types: Vec<Ty> = best.types.iter().skip(1).cloned().collect();
        let call = Call {
            name: best.name.clone(),
            callee: Callee::Constructor(code.bias.load(code.function.entry)),
            arguments: self.with_conversions(arguments, &types, node)?,
            types,
            language: Language::Cpp,
            node,
            step,
        };
        let kind = Kind::Call(Box::new(call));
        Ok(Some(Expr::new(kind, ty.clone(), node)))
    }

    /// Converts an argument of a call by its own class's function, or by a constructor of the
    /// parameter's class (ISO C++ [over.best.ics]).
    pub(super) fn converted_argument<'t>(
        &self,
        argument: Expr<'t>,
        ty: &Ty,
        nth: usize,
        node: &'t Node,
    ) -> Checked<'t> {
        if self.language != Language::Cpp {
            return Ok(argument);
        }
        let to = match ty.shape() {
            Shape::Pointer(to, PointerKind::Reference) => to,
            _ => ty.clone(),
        };
        let of = self.referent(argument.clone());
        // The object of a member function may be no place.
        let is_this = matches!(to.shape(), Shape::Pointer(to, _) if exact::same(&of.ty, &to));
        let is_taken = is_this || exact::same(&of.ty, &to) || exact::derives(&of.ty, &to);
        if is_taken || !cpp_objects::may_convert(&of.ty, &to) {
            return Ok(argument);
        }
        let step = ARGUMENT + nth as u32;
        let by_class = match of.ty.shape() {
            Shape::Composite(_) => self.converted_object(&of, Wanted::Argument(&to), step, node)?,
            _ => None,
        };
        if let Some(value) = by_class {
            return Ok(value);
        }
        let made = self.constructor_call(&to, vec![of], step, node)?;
        Ok(made.unwrap_or(argument))
    }

    /// Converts a branch of `?:` by its class to the type of the other one, a number.
    pub(super) fn converted_branches<'t>(
        &self,
        yes: Expr<'t>,
        no: Expr<'t>,
        node: &'t Node,
    ) -> Result<(Expr<'t>, Expr<'t>), Stop<'t>> {
        let (a, b) = (self.referent(yes.clone()), self.referent(no.clone()));
        let is_object = |of: &Expr<'_>| matches!(of.ty.shape(), Shape::Composite(_));
        Ok(match (is_object(&a), is_object(&b)) {
            (true, false) if c::is_arithmetic(&b.ty) => {
                (self.converted_argument(yes, &b.ty, BRANCH, node)?, no)
            }
            (false, true) if c::is_arithmetic(&a.ty) => {
                let no = self.converted_argument(no, &a.ty, BRANCH, node)?;
                (yes, no)
            }
            _ => (yes, no),
        })
    }

    /// Checks `(f)(x)` and `(a[1])(x)`, which the parser takes for a cast.
    pub(super) fn call_in_parentheses<'t>(
        &self,
        callee: &'t TypeName,
        arguments: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        let name = callee.base.as_str();
        let mut nodes = vec![arguments];
        while let Some(last) = nodes.pop() {
            match &last.kind {
                tree::Kind::Sequence(first, second) => nodes.extend([&**second, &**first]),
                _ => {
                    nodes.push(last);
                    break;
                }
            }
        }
        nodes.reverse();
        let arguments = nodes.into_iter().map(|it| self.check(it));
        let arguments = arguments.collect::<Result<Vec<Expr<'t>>, Stop<'t>>>()?;
        if callee.layers.is_empty() && !self.scope.hides_functions(name) {
            let known = self.scope.functions(name).map_err(Stop::Wrong)?;
            let known: Vec<Candidate> = known.into_iter().map(Candidate::of).collect();
            if let Some(call) = self.best_call(&known, false, name, arguments.clone(), node)? {
                return Ok(call);
            }
        }
        let mut object = self.name(name, node)?;
        for layer in callee.layers.iter().rev() {
            let (Layer::Array(Some(at)), Shape::Array(array)) = (layer, object.ty.shape()) else {
                let message = format!("unknown type `{name}`");
                return Err(wrong(message, &callee.span));
            };
            let at = Expr::new(Kind::Constant(u128::from(*at)), c::named("long"), node);
            let element = array.element.clone();
            let kind = Kind::Element(Box::new(object), Box::new(at), array);
            object = Expr::new(kind, element, node);
        }
        self.call_of(object, arguments, None, node)
    }
}
