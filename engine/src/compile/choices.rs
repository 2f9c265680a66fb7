//! Values without a place in the program: one of two values, chosen by a condition, and objects that the
//! expression makes. A member of a choice is a choice of the two members.

use super::code::{Address, BoolExpr, Int};
use super::numbers::address_in;
use super::place::Made;
use super::{NotCompilable, RuntimeLocation, RuntimeValue, pointed};
use crate::inspect::value::{PointerKind, Shape, Ty};
use std::sync::Arc;

/// Maximum nesting of references around a value.
const REFERENCES: usize = 16;

impl RuntimeValue {
    /// Returns a value whose use is a deopt.
    pub(super) fn missing(ty: Ty) -> RuntimeValue {
        RuntimeValue::new(ty, RuntimeLocation::Missing)
    }

    /// Returns a variant, or the fields of a struct, that the expression makes.
    pub(super) fn made(
        ty: Ty,
        variant: Option<String>,
        fields: Vec<(String, RuntimeValue)>,
    ) -> RuntimeValue {
        let made = Made { variant, fields };
        RuntimeValue::new(ty, RuntimeLocation::Made(Arc::new(made)))
    }

    /// Returns `Some(value)` of an option's type.
    pub(super) fn some(ty: Ty, value: RuntimeValue) -> RuntimeValue {
        RuntimeValue::made(ty, Some("Some".into()), vec![("0".into(), value)])
    }

    /// Returns `None` of an option's type.
    pub(super) fn none(ty: Ty) -> RuntimeValue {
        RuntimeValue::made(ty, Some("None".into()), Vec::new())
    }

    /// Returns one of two values.
    pub(super) fn choice(condition: BoolExpr, yes: RuntimeValue, no: RuntimeValue) -> RuntimeValue {
        use RuntimeLocation::{Memory, Missing};
        let is_whole = yes.bits.is_none() && no.bits.is_none();
        let at = |int: Int, ty: Ty| RuntimeValue::new(ty, Memory(Address::pointed(int)));
        match (condition, &yes.place, &no.place) {
            (BoolExpr::Constant(true), ..) | (_, Missing, Missing) => yes,
            (BoolExpr::Constant(false), ..) => no,
            (condition, Memory(a), Missing) if is_whole => {
                at(a.clone().number().unless(condition.not()), yes.ty)
            }
            (condition, Missing, Memory(b)) if is_whole => {
                at(b.clone().number().unless(condition), no.ty)
            }
            (condition, Memory(a), Memory(b)) if is_whole && yes.ty.same_as(&no.ty) => {
                let (a, b) = (a.clone().number(), b.clone().number());
                at(Int::choice(condition, a, b), yes.ty)
            }
            (condition, ..) => {
                let ty = match &yes.place {
                    Missing => no.ty.clone(),
                    _ => yes.ty.clone(),
                };
                let both = Arc::new([yes, no]);
                RuntimeValue::new(ty, RuntimeLocation::Choice(Box::new(condition), both))
            }
        }
    }

    /// Applies a step to the value; to both values of a choice.
    pub(super) fn each(
        &self,
        step: &dyn Fn(&RuntimeValue) -> Result<RuntimeValue, NotCompilable>,
    ) -> Result<RuntimeValue, NotCompilable> {
        match &self.place {
            RuntimeLocation::Choice(condition, both) => {
                let (yes, no) = (both[0].each(step)?, both[1].each(step)?);
                let chosen = RuntimeValue::choice((**condition).clone(), yes, no);
                match chosen.place.parts() > super::MAX_PARTS {
                    true => Err(crate::expr::messages::TOO_LONG.into()),
                    false => Ok(chosen),
                }
            }
            RuntimeLocation::Missing => Ok(self.clone()),
            _ => step(self),
        }
    }

    /// Returns what `truth` says of the value; of a choice, what it says of the chosen value.
    pub(super) fn decided(
        &self,
        truth: &dyn Fn(&RuntimeValue) -> Result<BoolExpr, NotCompilable>,
    ) -> Result<BoolExpr, NotCompilable> {
        match &self.place {
            RuntimeLocation::Choice(condition, both) => {
                let (yes, no) = (both[0].decided(truth)?, both[1].decided(truth)?);
                Ok(condition.clone().choice(yes, no))
            }
            RuntimeLocation::Missing => Ok(BoolExpr::Deopt),
            _ => truth(self),
        }
    }

    /// Returns the target of a pointer or reference.
    pub(super) fn pointee(&self, of: &Ty) -> Result<RuntimeValue, NotCompilable> {
        self.each(&|pointer| match &pointer.place {
            RuntimeLocation::Referent(target) => Ok((**target).clone()),
            _ => Ok(RuntimeValue::new(of.clone(), pointed(address_in(pointer)?))),
        })
    }

    /// Returns a reference to the value, of a type.
    pub(super) fn referred(&self, ty: Ty) -> RuntimeValue {
        let place = match (&self.place, ty.shape()) {
            (RuntimeLocation::Memory(address), Shape::Pointer(..)) => {
                RuntimeLocation::Int(address.clone().number(), super::code::Width::WORD)
            }
            _ => RuntimeLocation::Referent(Arc::new(self.clone())),
        };
        RuntimeValue::new(ty, place)
    }

    /// Returns the value that references and boxes around it lead to.
    pub(super) fn plain(&self) -> Result<RuntimeValue, NotCompilable> {
        let mut value = self.clone();
        for _ in 0..REFERENCES {
            if let RuntimeLocation::Referent(target) = &value.place {
                value = (**target).clone();
                continue;
            }
            match value.ty.shape() {
                Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                    value = value.pointee(&of)?;
                }
                _ => break,
            }
        }
        Ok(value)
    }
}
