//! Methods that take a closure which the expression writes: those of `Option` and `Result` become a
//! `match`, those of a slice's iterator a search. The closure itself has no code in the program.

use super::super::ir::{Expr, Kind};
use super::super::made::{Bound, Match, MatchArm, Search, Searched, Test};
use super::super::tree::{self, Node};
use super::super::tree_rust::{Form, Pattern, PatternKind};
use super::rust_match::Place;
use super::{Checked, Checker, Stop, rust, rust_types, wrong};
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;
use std::ops::Range;

/// The error for a closure that is no argument of one of these methods.
pub(super) const REFUSED: &str = "a closure has no code in the program; it is evaluated only in methods of `Option`, `Result` \
     and iterators";

/// A closure in an expression.
pub(super) struct Closure<'t> {
    parameters: &'t [Pattern],
    body: &'t Node,
    node: &'t Node,
}

/// A variant of an option or result, with what it holds.
struct Held<'v> {
    variant: &'v str,
    ty: Ty,
}

pub(super) fn closure(node: &Node) -> Option<Closure<'_>> {
    let tree::Kind::Rust(form) = &inner(node).kind else {
        return None;
    };
    match &**form {
        Form::Closure(parameters, body) => Some(Closure {
            parameters,
            body,
            node,
        }),
        _ => None,
    }
}

impl Checker<'_> {
    /// Checks `object.name(…)` with a closure among the arguments; `None` if there is none.
    pub(super) fn with_closure<'t>(
        &self,
        object: &Expr<'t>,
        name: &str,
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        if self.language != Language::Rust {
            return None;
        }
        let last = closure(arguments.last()?)?;
        let mut of = object.clone();
        for _ in 0..DEREFERENCES {
            match of.ty.shape() {
                Shape::Pointer(to, _) => of = of.target(to),
                _ => break,
            }
        }
        let others = arguments.len() - 1;
        let checked = match library::contents(&of.ty) {
            Some(Contents::Optional(some)) => {
                self.of_option(of, some, name, &arguments[..others], &last, node)
            }
            Some(Contents::Either(good, bad)) => {
                self.of_result(of, (good, bad), name, &arguments[..others], &last, node)
            }
            Some(Contents::Wrapped(row)) if others == 0 => {
                self.of_iterator(of, &row, name, &last, node)
            }
            _ => None,
        };
        let refused = || Err(wrong(REFUSED, &last.node.span));
        Some(checked.unwrap_or_else(refused))
    }

    fn of_option<'t>(
        &self,
        of: Expr<'t>,
        ty: Ty,
        name: &str,
        others: &'t [Node],
        last: &Closure<'t>,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let held = Held {
            variant: "Some",
            ty,
        };
        let none = |checker: &Self| checker.std_variant("None", &[], None, node);
        let whole = of.clone();
        Some(match (name, others) {
            ("map", []) => self.either(of, &held, last, node, Self::some, none),
            ("and_then", []) => self.either(of, &held, last, node, |_, it, _| Ok(it), none),
            ("is_some_and", []) => self.either(of, &held, last, node, Self::truth, |it| {
                Ok(it.boolean(false, node))
            }),
            ("is_none_or", []) => self.either(of, &held, last, node, Self::truth, |it| {
                Ok(it.boolean(true, node))
            }),
            ("map_or", [other]) => self.either(
                of,
                &held,
                last,
                node,
                |_, it, _| Ok(it),
                |it| it.check(other),
            ),
            ("filter", []) => self.filtered(of, &held, last, node),
            ("unwrap_or_else", []) => {
                self.or_else(of, &held, None, last, node, |_, it| Ok(it), |_, it| Ok(it))
            }
            ("or_else", []) => self.or_else(
                of,
                &held,
                None,
                last,
                node,
                move |_, _| Ok(whole),
                |_, it| Ok(it),
            ),
            _ => return None,
        })
    }

    fn of_result<'t>(
        &self,
        of: Expr<'t>,
        (good, bad): (Ty, Ty),
        name: &str,
        others: &'t [Node],
        last: &Closure<'t>,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let ok = Held {
            variant: "Ok",
            ty: good,
        };
        let err = Held {
            variant: "Err",
            ty: bad,
        };
        let whole = of.clone();
        let no = |it: &Self| Ok(it.boolean(false, node));
        Some(match (name, others) {
            ("is_ok_and", []) => self.either(of, &ok, last, node, Self::truth, no),
            ("is_err_and", []) => self.either(of, &err, last, node, Self::truth, no),
            ("map_or", [other]) => {
                self.either(of, &ok, last, node, |_, it, _| Ok(it), |it| it.check(other))
            }
            ("unwrap_or_else", []) => self.or_else(
                of,
                &ok,
                Some(&err),
                last,
                node,
                |_, it| Ok(it),
                |_, it| Ok(it),
            ),
            ("or_else", []) => self.or_else(
                of,
                &ok,
                Some(&err),
                last,
                node,
                move |_, _| Ok(whole),
                |_, it| Ok(it),
            ),
            _ => return None,
        })
    }

    fn some<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        self.std_variant("Some", &[], Some(of), node)
    }

    pub(super) fn truth<'t>(&self, of: Expr<'t>, _: &'t Node) -> Checked<'t> {
        match rust_types::same(&of.ty, &rust::named("bool")) || of.is_late() {
            true => Ok(of),
            false => Err(super::rust_made::expected(&rust::named("bool"), &of)),
        }
    }

    fn boolean<'t>(&self, truth: bool, node: &'t Node) -> Expr<'t> {
        Expr::new(Kind::Constant(u128::from(truth)), rust::named("bool"), node)
    }

    /// Checks the body of a closure with its parameter bound to a value of a type.
    fn body<'t>(
        &self,
        closure: &Closure<'t>,
        place: Option<&Place>,
    ) -> Result<(Test<'t>, Vec<Bound>, Expr<'t>), Stop<'t>> {
        let places = place.map(std::slice::from_ref).unwrap_or_default();
        let (mut tests, bound, body) = self.bodies(closure, places)?;
        Ok((tests.pop().unwrap_or(Test::Always), bound, body))
    }

    /// Checks the body of a closure with its parameters bound to values of these types.
    pub(super) fn bodies<'t>(
        &self,
        closure: &Closure<'t>,
        places: &[Place],
    ) -> Result<(Vec<Test<'t>>, Vec<Bound>, Expr<'t>), Stop<'t>> {
        let (given, wanted) = (closure.parameters.len(), places.len());
        if given != wanted {
            let why = format!("expected a closure with {wanted} parameters, not {given}");
            return Err(wrong(why, &closure.node.span));
        }
        let mut bound = Vec::new();
        let mut tests = Vec::new();
        for (parameter, place) in closure.parameters.iter().zip(places) {
            tests.push(match &parameter.kind {
                // `|&x|` of a value that is looked at by reference.
                PatternKind::Refer(inner) if place.is_behind_reference => {
                    let place = Place::of(place.ty.clone());
                    self.pattern(inner, &place, &mut bound)?
                }
                _ => self.pattern(parameter, place, &mut bound)?,
            });
        }
        let before = self.known.bind(&bound);
        let body = self.in_arm(closure.body, &bound, |it, node| it.check(node));
        self.known.unbind(before);
        Ok((tests, bound, body?))
    }

    /// Returns a `match` with an arm for one variant, whose value the closure gets, and one for all
    /// others.
    fn either<'t>(
        &self,
        of: Expr<'t>,
        held: &Held<'_>,
        closure: &Closure<'t>,
        node: &'t Node,
        then: impl FnOnce(&Self, Expr<'t>, &'t Node) -> Checked<'t>,
        other: impl FnOnce(&Self) -> Checked<'t>,
    ) -> Checked<'t> {
        let place = Place::of(held.ty.clone());
        let (test, bound, body) = self.body(closure, Some(&place))?;
        let body = match body.is_late() {
            true => return Err(wrong(REFUSED, &closure.node.span)),
            false => then(self, body, node)?,
        };
        let test = Test::Variant(held.variant.to_owned(), vec![("0".to_owned(), test)]);
        let arms = vec![
            arm(test, closure.node.span.clone(), bound, None, body),
            arm(
                Test::Always,
                rest(closure, node),
                Vec::new(),
                None,
                other(self)?,
            ),
        ];
        self.made_match(of, arms, node)
    }

    /// Checks `option.filter(…)`.
    fn filtered<'t>(
        &self,
        of: Expr<'t>,
        held: &Held<'_>,
        closure: &Closure<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let place = Place::referred(held.ty.clone());
        let (test, bound, body) = self.body(closure, Some(&place))?;
        let guard = self.truth(body, node)?;
        let test = Test::Variant("Some".to_owned(), vec![("0".to_owned(), test)]);
        let none = self.std_variant("None", &[], None, node)?;
        let none = self.typed(none, &of.ty)?;
        let whole = of.clone();
        let arms = vec![
            arm(test, closure.node.span.clone(), bound, Some(guard), whole),
            arm(Test::Always, rest(closure, node), Vec::new(), None, none),
        ];
        self.made_match(of, arms, node)
    }

    /// Returns a `match` with an arm for one variant, and one for the other, whose value the closure
    /// gets if it holds one.
    #[expect(
        clippy::too_many_arguments,
        reason = "each of the methods differs in all of them"
    )]
    fn or_else<'t>(
        &self,
        of: Expr<'t>,
        held: &Held<'_>,
        other: Option<&Held<'_>>,
        closure: &Closure<'t>,
        node: &'t Node,
        then: impl FnOnce(&Self, Expr<'t>) -> Checked<'t>,
        otherwise: impl FnOnce(&Self, Expr<'t>) -> Checked<'t>,
    ) -> Checked<'t> {
        let key = std::ptr::from_ref(closure.node) as usize;
        let value = Expr::new(Kind::Bound(key), held.ty.clone(), node);
        let test = Test::Bind(key, held.ty.clone(), Box::new(Test::Always));
        let test = Test::Variant(held.variant.to_owned(), vec![("0".to_owned(), test)]);
        let place = other.map(|it| Place::of(it.ty.clone()));
        let (inner, bound, body) = self.body(closure, place.as_ref())?;
        let inner = match other {
            Some(it) => Test::Variant(it.variant.to_owned(), vec![("0".to_owned(), inner)]),
            None => inner,
        };
        let arms = vec![
            arm(
                test,
                rest(closure, node),
                Vec::new(),
                None,
                then(self, value)?,
            ),
            arm(
                inner,
                closure.node.span.clone(),
                bound,
                None,
                otherwise(self, body)?,
            ),
        ];
        self.made_match(of, arms, node)
    }

    fn made_match<'t>(
        &self,
        of: Expr<'t>,
        mut arms: Vec<MatchArm<'t>>,
        node: &'t Node,
    ) -> Checked<'t> {
        let ty = self.one_result(&mut arms)?;
        let open = rust_types::is_open(&ty);
        Ok(Expr::new(Kind::Match(Box::new(Match { of, arms })), ty, node).opened(open))
    }

    /// Checks `slice.iter().any(…)` and the like.
    fn of_iterator<'t>(
        &self,
        of: Expr<'t>,
        row: &Ty,
        name: &str,
        closure: &Closure<'t>,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        if !of.ty.name().starts_with("core::slice::iter::Iter<") {
            return None;
        }
        let item = rust_types::element(row)?.reference();
        let (searched, ty) = match name {
            "any" => (Searched::Any, rust::named("bool")),
            "all" => (Searched::All, rust::named("bool")),
            "position" => (Searched::Position, rust::named("usize").option()),
            "find" => (Searched::Find, item.clone().option()),
            _ => return None,
        };
        let place = match searched {
            Searched::Find => Place::referred(item.clone()),
            _ => Place::of(item.clone()),
        };
        let search = || {
            let (test, bound, body) = self.body(closure, Some(&place))?;
            let body = self.truth(body, node)?;
            let search = Search {
                of,
                item,
                test,
                bound,
                body,
                searched,
            };
            Ok(Expr::new(Kind::Search(Box::new(search)), ty, node))
        };
        Some(search())
    }
}

fn arm<'t>(
    test: Test<'t>,
    span: Range<usize>,
    bound: Vec<Bound>,
    guard: Option<Expr<'t>>,
    body: Expr<'t>,
) -> MatchArm<'t> {
    MatchArm {
        test,
        span,
        bound,
        guard,
        body,
    }
}

/// Returns the position of the arm that has none in the source: no other expression has it.
fn rest(closure: &Closure<'_>, node: &Node) -> Range<usize> {
    closure.node.span.start..node.span.end
}
