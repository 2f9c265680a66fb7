//! `match`, `if let` and `matches!` of Rust: patterns become tests of a value by its type.

use super::super::ir::{Expr, Kind};
use super::super::made::{Bound, Match, MatchArm, Rest, Test};
use super::super::tree::{self, Node};
use super::super::tree_rust::{Arm, Pattern, PatternKind};
use super::rust_made::expected;
use super::{Checked, Checker, Fact, Stop, key, postponed, rust_types, scalar, wrong};
use crate::inspect::value::members::last_component;
use crate::inspect::value::{Shape, Ty};
use std::ops::Range;

/// What a pattern is compared with: the type, and whether it is behind a reference, which what is
/// bound is then, too.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) ty: Ty,
    pub(super) is_behind_reference: bool,
}

impl Place {
    /// Returns a value of a type.
    pub(super) fn of(ty: Ty) -> Place {
        Place {
            ty,
            is_behind_reference: false,
        }
    }

    /// Returns a value of a type behind a reference.
    pub(super) fn referred(ty: Ty) -> Place {
        Place {
            ty,
            is_behind_reference: true,
        }
    }

    fn part(&self, ty: &Ty) -> Place {
        Place {
            ty: ty.clone(),
            ..*self
        }
    }
}

impl Checker<'_> {
    pub(super) fn matching<'t>(
        &self,
        of: &'t Node,
        arms: &'t [Arm],
        node: &'t Node,
    ) -> Checked<'t> {
        let of = self.check(of)?;
        let place = Place {
            ty: of.ty.clone(),
            is_behind_reference: false,
        };
        let mut checked = Vec::new();
        for arm in arms {
            let mut bound = Vec::new();
            let test = self.pattern(&arm.pattern, &place, &mut bound)?;
            let before = self.known.bind(&bound);
            let parts = self.arm_parts(arm, &bound);
            self.known.unbind(before);
            let (guard, body) = parts?;
            checked.push(MatchArm {
                test,
                span: arm.pattern.span.clone(),
                bound,
                guard,
                body,
            });
        }
        let ty = self.one_result(&mut checked)?;
        let kind = Kind::Match(Box::new(Match { of, arms: checked }));
        Ok(Expr::new(kind, ty, node))
    }

    fn arm_parts<'t>(
        &self,
        arm: &'t Arm,
        bound: &[Bound],
    ) -> Result<(Option<Expr<'t>>, Expr<'t>), Stop<'t>> {
        let guard = match &arm.guard {
            Some(guard) => Some(self.in_arm(guard, bound, |it, node| it.condition(node))?),
            None => None,
        };
        let body = self.in_arm(&arm.body, bound, |it, node| it.check(node))?;
        Ok((guard, body))
    }

    /// Checks a part of an arm. What needs a value that the pattern binds is checked when the arm is
    /// taken.
    pub(super) fn in_arm<'t>(
        &self,
        node: &'t Node,
        bound: &[Bound],
        check: impl FnOnce(&Self, &'t Node) -> Checked<'t>,
    ) -> Checked<'t> {
        match check(self, node) {
            Err(Stop::Needs(part) | Stop::Wants(part)) => {
                let has_failed = matches!(self.known.0.get(&key(part)), Some(Fact::Failed));
                match has_failed || node.has_effects() || mentions(part, bound) {
                    true => Ok(postponed(node)),
                    false => Err(Stop::Wants(part)),
                }
            }
            checked => checked,
        }
    }

    /// Gives the bodies of all arms one type.
    pub(super) fn one_result<'t>(&self, arms: &mut [MatchArm<'t>]) -> Result<Ty, Stop<'t>> {
        let mut known = arms
            .iter()
            .filter(|it| !it.body.is_late())
            .map(|it| &it.body);
        let all = known.clone();
        let Some(first) = known.clone().find(|it| !it.open).or(known.next()) else {
            return Ok(Ty::Void);
        };
        let open = first.open;
        // An arm may say what another one leaves open.
        let ty = all.fold(first.ty.clone(), |ty, it| rust_types::merged(&ty, &it.ty));
        let mut has_late = false;
        for arm in arms.iter_mut() {
            if arm.body.is_late() {
                has_late = true;
                continue;
            }
            arm.body = self.typed(arm.body.clone(), &ty)?;
            if !rust_types::same(&arm.body.ty, &ty) {
                return Err(expected(&ty, &arm.body));
            }
        }
        // What is still open may become the type of a late one.
        Ok(if has_late && open { Ty::Void } else { ty })
    }

    pub(super) fn pattern<'t>(
        &self,
        pattern: &'t Pattern,
        place: &Place,
        bound: &mut Vec<Bound>,
    ) -> Result<Test<'t>, Stop<'t>> {
        let ty = &place.ty;
        // A pattern that is no reference follows references.
        let follows = !matches!(
            pattern.kind,
            PatternKind::Any
                | PatternKind::Rest
                | PatternKind::Refer(_)
                | PatternKind::Bind(..)
                | PatternKind::Either(_)
        );
        if follows && let Some(target) = rust_types::referent(ty) {
            let place = Place {
                ty: target,
                is_behind_reference: true,
            };
            let inner = self.pattern(pattern, &place, bound)?;
            return Ok(Test::Referent(Box::new(inner)));
        }
        match &pattern.kind {
            PatternKind::Any => Ok(Test::Always),
            PatternKind::Rest => Err(wrong("`..` is not allowed here", &pattern.span)),
            PatternKind::Value(node) => self.equal(node, ty),
            PatternKind::Range(from, to, inclusive) => {
                let bound = |node: &'t Option<Node>| -> Result<_, Stop<'t>> {
                    let Some(node) = node else { return Ok(None) };
                    let of = self.typed(self.check(node)?, ty)?;
                    match rust_types::same(&of.ty, ty) && scalar(ty).is_some() {
                        true => Ok(Some(Box::new(of))),
                        false => Err(expected(ty, &of)),
                    }
                };
                Ok(Test::Within(bound(from)?, bound(to)?, *inclusive))
            }
            PatternKind::Bind(name, inner) => {
                self.binding(name, inner.as_deref(), pattern, place, bound)
            }
            PatternKind::Refer(inner) => match rust_types::referent(ty) {
                Some(target) => {
                    let place = Place {
                        ty: target,
                        is_behind_reference: false,
                    };
                    let inner = self.pattern(inner, &place, bound)?;
                    Ok(Test::Referent(Box::new(inner)))
                }
                None => Err(found_pattern(ty, "&_", &pattern.span)),
            },
            PatternKind::Tuple(all) => match rust_types::fields(ty) {
                Some(known) if rust_types::is_tuple(ty) => Ok(Test::Fields(
                    self.in_order(all, &known, place, pattern, bound)?,
                )),
                _ => Err(found_pattern(ty, "a tuple", &pattern.span)),
            },
            PatternKind::Slice(all) => self.row(all, place, pattern, bound),
            PatternKind::Path(node) => {
                let tree::Kind::Name(path) = &node.kind else {
                    return self.equal(node, ty);
                };
                match rust_types::variant(ty, last_of(path)) {
                    Some(known) if known.is_empty() => Ok(self.variant(path, ty, Vec::new())),
                    Some(_) => {
                        let why =
                            format!("`{path}` has fields; write `{path}(..)` or `{path} {{ .. }}`");
                        Err(wrong(why, &pattern.span))
                    }
                    None if rust_types::is_enum(ty) => Err(no_variant(ty, path, &pattern.span)),
                    None => self.equal(node, ty),
                }
            }
            PatternKind::Parts(path, all) => {
                let known = self.parts_of(path, ty, pattern)?;
                let tests = self.in_order(all, &known, place, pattern, bound)?;
                Ok(self.variant(path, ty, tests))
            }
            PatternKind::Fields(path, all, has_rest) => {
                let known = self.parts_of(path, ty, pattern)?;
                let mut tests = Vec::new();
                for (name, inner) in all {
                    let Some((_, ty)) = known.iter().find(|it| it.0 == *name) else {
                        let why = format!("`{path}` has no field `{name}`");
                        return Err(wrong(why, &inner.span));
                    };
                    let test = self.pattern(inner, &place.part(ty), bound)?;
                    tests.push((name.clone(), test));
                }
                let missing = known
                    .iter()
                    .find(|(name, _)| all.iter().all(|it| it.0 != *name));
                match missing.filter(|_| !has_rest) {
                    Some((name, _)) => {
                        let why = format!("the pattern does not mention `{name}`; add `..`");
                        Err(wrong(why, &pattern.span))
                    }
                    None => Ok(self.variant(path, ty, tests)),
                }
            }
            PatternKind::Either(all) => {
                let tests = all.iter().map(|it| self.pattern(it, place, bound));
                Ok(Test::Any(tests.collect::<Result<_, _>>()?))
            }
        }
    }

    /// Returns the fields of the variant or struct that a path in a pattern names.
    fn parts_of<'t>(
        &self,
        path: &str,
        ty: &Ty,
        pattern: &Pattern,
    ) -> Result<rust_types::Parts, Stop<'t>> {
        if rust_types::is_enum(ty) {
            let known = rust_types::variant(ty, last_of(path));
            return known.ok_or_else(|| no_variant(ty, path, &pattern.span));
        }
        let is_it = last_component(&rust_types::generic_name(ty)) == last_of(path);
        match rust_types::fields(ty).filter(|_| is_it) {
            Some(known) => Ok(known),
            None => Err(found_pattern(ty, path, &pattern.span)),
        }
    }

    fn variant<'t>(&self, path: &str, ty: &Ty, tests: Vec<(String, Test<'t>)>) -> Test<'t> {
        match rust_types::is_enum(ty) {
            true => Test::Variant(last_of(path).to_owned(), tests),
            false => Test::Fields(tests),
        }
    }

    fn equal<'t>(&self, node: &'t Node, ty: &Ty) -> Result<Test<'t>, Stop<'t>> {
        let of = self.typed(self.check(node)?, ty)?;
        match rust_types::same(&of.ty, ty) {
            true => Ok(Test::Equal(Box::new(of))),
            false => Err(expected(ty, &of)),
        }
    }

    fn binding<'t>(
        &self,
        name: &str,
        inner: Option<&'t Pattern>,
        pattern: &'t Pattern,
        place: &Place,
        bound: &mut Vec<Bound>,
    ) -> Result<Test<'t>, Stop<'t>> {
        let ty = &place.ty;
        let target = rust_types::referent(ty).unwrap_or_else(|| ty.clone());
        let is_variant = rust_types::variant(&target, name).is_some_and(|it| it.is_empty());
        if inner.is_none() && is_variant {
            let test = Test::Variant(name.to_owned(), Vec::new());
            return Ok(match rust_types::referent(ty) {
                Some(_) => Test::Referent(Box::new(test)),
                None => test,
            });
        }
        let test = match inner {
            Some(inner) => self.pattern(inner, place, bound)?,
            None => Test::Always,
        };
        let ty = match place.is_behind_reference {
            true => ty.clone().reference(),
            false => ty.clone(),
        };
        // Each alternative binds the same names.
        let key = match bound.iter().find(|it| it.name == name) {
            Some(known) => known.key,
            None => std::ptr::from_ref(pattern) as usize,
        };
        if !bound.iter().any(|it| it.key == key) {
            bound.push(Bound {
                name: name.to_owned(),
                ty: ty.clone(),
                key,
            });
        }
        Ok(Test::Bind(key, ty, Box::new(test)))
    }

    /// Checks the patterns of fields in their order; `..` stands for any number of them.
    fn in_order<'t>(
        &self,
        all: &'t [Pattern],
        known: &[(String, Ty)],
        place: &Place,
        pattern: &Pattern,
        bound: &mut Vec<Bound>,
    ) -> Result<Vec<(String, Test<'t>)>, Stop<'t>> {
        let rest = all.iter().position(is_rest);
        let count = all.len() - usize::from(rest.is_some());
        let fits = match rest {
            Some(_) => count <= known.len(),
            None => count == known.len(),
        };
        if !fits {
            let why = format!(
                "the pattern has {count} parts, `{}` has {}",
                place.ty.name(),
                known.len()
            );
            return Err(wrong(why, &pattern.span));
        }
        let skipped = known.len() - count;
        let mut tests = Vec::new();
        for (index, inner) in all.iter().enumerate() {
            let index = match rest {
                Some(rest) if index == rest => continue,
                Some(rest) if index > rest => index - 1 + skipped,
                _ => index,
            };
            let Some((name, ty)) = known.get(index) else {
                continue;
            };
            let test = self.pattern(inner, &place.part(ty), bound)?;
            tests.push((name.clone(), test));
        }
        Ok(tests)
    }

    fn row<'t>(
        &self,
        all: &'t [Pattern],
        place: &Place,
        pattern: &Pattern,
        bound: &mut Vec<Bound>,
    ) -> Result<Test<'t>, Stop<'t>> {
        let ty = &place.ty;
        let is_row = matches!(ty.shape(), Shape::Array(_)) || rust_types::is_reference(ty);
        let Some(element) = rust_types::element(ty).filter(|_| is_row) else {
            return Err(found_pattern(ty, "a slice", &pattern.span));
        };
        let is_behind_reference = place.is_behind_reference || rust_types::is_reference(ty);
        let place = Place {
            ty: element,
            is_behind_reference,
        };
        let is_rest = |it: &Pattern| match &it.kind {
            PatternKind::Bind(_, Some(inner)) => is_rest(inner),
            _ => is_rest(it),
        };
        let rest = all.iter().position(is_rest);
        let (before, after) = all.split_at(rest.unwrap_or(all.len()));
        let after = after.get(usize::from(rest.is_some())..).unwrap_or_default();
        let mut tests = |patterns: &'t [Pattern]| -> Result<Vec<Test<'t>>, Stop<'t>> {
            let tests = patterns.iter().map(|it| self.pattern(it, &place, bound));
            tests.collect()
        };
        let (before, after) = (tests(before)?, tests(after)?);
        let rest = match rest.and_then(|it| all.get(it)) {
            None => Rest::None,
            Some(pattern) => match &pattern.kind {
                PatternKind::Bind(name, _) => {
                    let part = match ty.shape() {
                        Shape::Array(array) => {
                            let fixed = (before.len() + after.len()) as u64;
                            let count = array.count.unwrap_or(0).saturating_sub(fixed);
                            match place.is_behind_reference {
                                true => place.ty.clone().rust_array(count).reference(),
                                false => place.ty.clone().rust_array(count),
                            }
                        }
                        _ => place.ty.clone().slice(),
                    };
                    let key = std::ptr::from_ref(pattern) as usize;
                    bound.push(Bound {
                        name: name.clone(),
                        ty: part.clone(),
                        key,
                    });
                    Rest::Bound(key, part)
                }
                _ => Rest::Any,
            },
        };
        Ok(Test::Row(before, after, rest))
    }
}

fn is_rest(pattern: &Pattern) -> bool {
    matches!(pattern.kind, PatternKind::Rest)
}

/// Returns the last component of a path, without generic arguments.
fn last_of(path: &str) -> &str {
    last_component(path.split('<').next().unwrap_or_default())
}

fn found_pattern<'t>(ty: &Ty, pattern: &str, span: &Range<usize>) -> Stop<'t> {
    wrong(
        format!(
            "mismatched types: the value is a `{}`, the pattern {pattern}",
            ty.name()
        ),
        span,
    )
}

fn no_variant<'t>(ty: &Ty, path: &str, span: &Range<usize>) -> Stop<'t> {
    let why = format!("`{}` has no variant `{}`", ty.name(), last_of(path));
    wrong(why, span)
}

/// Returns whether an expression has a name that a pattern binds.
fn mentions(node: &Node, bound: &[Bound]) -> bool {
    match &node.kind {
        tree::Kind::Name(name) => bound.iter().any(|it| it.name == *name),
        kind => kind.parts().into_iter().any(|it| mentions(it, bound)),
    }
}
