//! `match` and what is like it, searches by closures, and objects that an expression makes.

use super::code::{BoolExpr, Int, Order};
use super::containers::compare;
use super::lower::Compiler;
use super::{NotCompilable, RuntimeLocation, RuntimeValue, probe};
use crate::expr::check;
use crate::expr::ir::Expr;
use crate::expr::made::{Fields, Made, Match, MatchArm, Rest, Search, Searched, Test};
use crate::inspect::value::{Shape, Ty};
use rustc_hash::FxHashMap;

/// Maximum number of elements of an array that an expression makes.
const MAX_ELEMENTS: u64 = 32;

impl Compiler<'_> {
    /// Lowers a `match` to the value of the arm that fits; a use is a deopt if none does.
    pub(super) fn matched(
        &self,
        of: &Match<'_>,
        whole: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let mut result = RuntimeValue::missing(whole.ty.clone());
        for (fits, value) in self
            .arms(of, &|body| self.body(body, whole))?
            .into_iter()
            .rev()
        {
            result = RuntimeValue::choice(fits, value, result);
        }
        Ok(result)
    }

    /// Lowers a `match` to the truth of the arm that fits; deopt if none does.
    pub(super) fn matched_truth(&self, of: &Match<'_>) -> Result<BoolExpr, NotCompilable> {
        let mut result = BoolExpr::Deopt;
        for (fits, truth) in self
            .arms(of, &|body| self.truth_of(body))?
            .into_iter()
            .rev()
        {
            result = fits.choice(truth, result);
        }
        Ok(result)
    }

    /// Returns the conditions of the arms with what `lower` makes of their bodies.
    fn arms<T>(
        &self,
        of: &Match<'_>,
        lower: &dyn Fn(&Expr<'_>) -> Result<T, NotCompilable>,
    ) -> Result<Vec<(BoolExpr, T)>, NotCompilable> {
        let value = self.lower(&of.of)?;
        let mut arms = Vec::new();
        for arm in &of.arms {
            let (fits, lowered) = self.arm(arm, &value, lower)?;
            let is_last = matches!(fits, BoolExpr::Constant(true));
            arms.push((fits, lowered));
            if is_last {
                break;
            }
        }
        Ok(arms)
    }

    fn arm<T>(
        &self,
        arm: &MatchArm<'_>,
        value: &RuntimeValue,
        lower: &dyn Fn(&Expr<'_>) -> Result<T, NotCompilable>,
    ) -> Result<(BoolExpr, T), NotCompilable> {
        let holds = self.holds_for(&arm.test, value)?;
        let before = self.known.borrow().bind(&arm.bound);
        let lowered = (|| {
            let guard = match &arm.guard {
                Some(guard) => self.truth_of(guard)?,
                None => BoolExpr::Constant(true),
            };
            Ok((holds.and(guard), lower(&arm.body)?))
        })();
        self.known.borrow().unbind(before);
        lowered
    }

    fn body(&self, body: &Expr<'_>, whole: &Expr<'_>) -> Result<RuntimeValue, NotCompilable> {
        let value = self.lower(body)?;
        let is_other = body.is_late()
            && !matches!(whole.ty, Ty::Void)
            && !check::same_type(&value.ty, &whole.ty);
        match is_other {
            true => Err("arms of different types".into()),
            false => Ok(value),
        }
    }

    /// Lowers a search by a closure.
    pub(super) fn searched(
        &self,
        search: &Search<'_>,
        ty: &Ty,
    ) -> Result<RuntimeValue, NotCompilable> {
        let iterator = self.lower(&search.of)?;
        let RuntimeLocation::Referent(of) = &iterator.place else {
            return Err("an iterator of the program".into());
        };
        let row = self.row(&of.plain()?)?;
        let row = row.ok_or("a search in other than a row")?;
        let holds = |index: Int| {
            let item = row.nth(index).referred(search.item.clone());
            let fits = self.holds_for(&search.test, &item)?;
            let before = self.known.borrow().bind(&search.bound);
            let holds = self.truth_of(&search.body);
            self.known.borrow().unbind(before);
            let holds = match search.searched {
                Searched::All => holds?.not(),
                _ => holds?,
            };
            Ok(fits.choice(holds, BoolExpr::Deopt))
        };
        let all = self.over(row.len.clone(), &holds)?;
        let found = |truth: BoolExpr| row.decided(truth);
        Ok(match search.searched {
            Searched::Any => self.boolean(found(BoolExpr::Any(all))),
            Searched::All => self.boolean(found(BoolExpr::Any(all).not())),
            Searched::Position | Searched::Find => {
                let first = Int::First(all);
                let is = compare(Order::Ne, &first, &Int::Constant(u64::MAX));
                let held = match search.searched {
                    Searched::Find => row.nth(first).referred(search.item.clone()),
                    _ => {
                        let index = crate::inspect::language::rust::builtin("usize");
                        let place = RuntimeLocation::Int(first, super::code::Width::WORD);
                        RuntimeValue::new(index.unwrap_or(Ty::Void), place)
                    }
                };
                RuntimeValue::choice(
                    found(is),
                    RuntimeValue::some(ty.clone(), held),
                    RuntimeValue::none(ty.clone()),
                )
            }
        })
    }

    /// Returns the value that a pattern has bound.
    pub(super) fn bound_value(&self, key: usize) -> Result<RuntimeValue, NotCompilable> {
        let value = self.bound.borrow().get(&key).cloned();
        value.ok_or_else(|| "a name that no pattern has bound".into())
    }

    /// Returns whether a test holds for a value, whose parts it binds.
    fn holds_for(&self, test: &Test<'_>, value: &RuntimeValue) -> Result<BoolExpr, NotCompilable> {
        match test {
            Test::Always => Ok(BoolExpr::Constant(true)),
            Test::Bind(key, ty, inner) => {
                let holds = self.holds_for(inner, value)?;
                let bound = match ty.same_as(&value.ty) {
                    true => value.clone(),
                    false => value.each(&|it| Ok(it.referred(ty.clone())))?,
                };
                self.bound.borrow_mut().insert(*key, bound);
                Ok(holds)
            }
            Test::Equal(wanted) => self.equal(value, &self.lower(wanted)?),
            Test::Within(from, to, inclusive) => {
                let last = if *inclusive { Order::Le } else { Order::Lt };
                let mut truth = BoolExpr::Constant(true);
                for (end, order) in [(from, Order::Ge), (to, last)] {
                    if let Some(end) = end {
                        truth = truth.and(self.ordered(order, value, &self.lower(end)?)?);
                    }
                }
                Ok(truth)
            }
            Test::Referent(inner) => match value.ty.shape() {
                Shape::Pointer(of, _) => self.holds_for(inner, &value.pointee(&of)?),
                _ => Err("not a reference".into()),
            },
            Test::Variant(name, tests) => {
                let is = self.holds_variant(value, name)?;
                if tests.is_empty() || matches!(is, BoolExpr::Constant(false)) {
                    return Ok(is);
                }
                let contents = self.contents_of_variant(value, name, true)?;
                Ok(is.and(self.all_hold(tests, &contents)?))
            }
            Test::Fields(tests) => self.all_hold(tests, value),
            Test::Row(before, after, rest) => self.row_holds(before, after, rest, value),
            Test::Any(tests) => self.any_holds(tests, value),
        }
    }

    fn all_hold(
        &self,
        tests: &[(String, Test<'_>)],
        object: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        let mut truth = BoolExpr::Constant(true);
        for (name, test) in tests {
            let field = object.each(&|it| {
                probe::member(it, name)?
                    .ok_or_else(|| NotCompilable::new(format!("no field `{name}`")))
            })?;
            truth = truth.and(self.holds_for(test, &field)?);
        }
        Ok(truth)
    }

    /// Returns whether one of the tests holds; a name is bound to what the first that holds binds.
    fn any_holds(
        &self,
        tests: &[Test<'_>],
        value: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        let outer = self.bound.borrow().clone();
        let mut bound: FxHashMap<usize, RuntimeValue> = FxHashMap::default();
        let mut truth = BoolExpr::Constant(false);
        let mut all = Vec::new();
        for test in tests {
            self.bound.replace(outer.clone());
            all.push((self.holds_for(test, value)?, self.bound.take()));
        }
        for (holds, names) in all.into_iter().rev() {
            for (key, value) in names {
                let value = match bound.remove(&key) {
                    Some(other) => RuntimeValue::choice(holds.clone(), value, other),
                    None => value,
                };
                bound.insert(key, value);
            }
            truth = holds.or(truth);
        }
        self.bound.replace(bound);
        Ok(truth)
    }

    fn row_holds(
        &self,
        before: &[Test<'_>],
        after: &[Test<'_>],
        rest: &Rest,
        value: &RuntimeValue,
    ) -> Result<BoolExpr, NotCompilable> {
        if matches!(rest, Rest::Bound(..)) {
            return Err("a pattern that binds a part of a row".into());
        }
        let row = self.row(&value.plain()?)?;
        let row = row.ok_or("a pattern for other than a row")?;
        let fixed = Int::Constant((before.len() + after.len()) as u64);
        let order = match rest {
            Rest::None => Order::Eq,
            _ => Order::Ge,
        };
        let mut truth = compare(order, &row.len, &fixed);
        for (index, test) in before.iter().enumerate() {
            let element = row.nth(Int::Constant(index as u64));
            truth = truth.and(self.holds_for(test, &element)?);
        }
        for (from_end, test) in (1..).zip(after.iter().rev()) {
            let index = Int::binary(
                super::code::Operation::Sub,
                row.len.clone(),
                Int::Constant(from_end),
                super::code::Width::WORD,
                false,
            );
            truth = truth.and(self.holds_for(test, &row.nth(index))?);
        }
        Ok(row.decided(truth))
    }

    /// Lowers an object that the expression makes.
    pub(super) fn made(
        &self,
        made: &Made<'_>,
        of: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let numbered = |values: Vec<RuntimeValue>| {
            let names = (0..).map(|index: usize| index.to_string());
            RuntimeValue::made(of.ty.clone(), None, names.zip(values).collect())
        };
        match made {
            Made::Fields(fields) => self.made_fields(fields, of),
            Made::Row(elements) => {
                let values = elements.iter().map(|it| self.lower(it));
                Ok(numbered(values.collect::<Result<_, _>>()?))
            }
            Made::Filled(element, count) if *count <= MAX_ELEMENTS => {
                let value = self.lower(element)?;
                Ok(numbered(vec![value; *count as usize]))
            }
            Made::Filled(..) => Err("a long array that the expression makes".into()),
        }
    }

    fn made_fields(&self, made: &Fields<'_>, of: &Expr<'_>) -> Result<RuntimeValue, NotCompilable> {
        let mut fields = Vec::new();
        for (name, value) in &made.fields {
            fields.push((name.clone(), self.lower(value)?));
        }
        if let Some(base) = &made.base {
            let base = self.lower(base)?;
            for (name, _) in check::fields(&of.ty).unwrap_or_default() {
                if fields.iter().all(|it| it.0 != name) {
                    let value = probe::member(&base, &name)?;
                    fields.push((name, value.ok_or("a field is missing")?));
                }
            }
        }
        Ok(RuntimeValue::made(
            of.ty.clone(),
            made.variant.clone(),
            fields,
        ))
    }
}
