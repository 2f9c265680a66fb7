//! Casts of objects, and of pointers and references within a C++ class hierarchy.

use super::code::{BoolExpr, Int, Operation, Order, Width};
use super::containers::compare;
use super::lower::Compiler;
use super::numbers::address_in;
use super::probe::{self, NOWHERE, NoProcess};
use super::{NotCompilable, RuntimeLocation, RuntimeValue, pointed};
use crate::expr::check;
use crate::expr::hierarchy;
use crate::expr::ir::Expr;
use crate::expr::ir_cpp::Cpp;
use crate::expr::tree::{Cast, Node};
use crate::expr::types::TypeName;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::{Shape, Ty, Value, ValueLocation};
use dwarf::LoadAddr;

/// Returns an address so many bytes further on; null stays null.
fn moved(at: Int, by: u64) -> Int {
    if by == 0 {
        return at;
    }
    let is_null = compare(Order::Eq, &at, &Int::Constant(0));
    let there = Int::binary(Operation::Add, at, Int::Constant(by), Width::WORD, false);
    Int::choice(is_null, Int::Constant(0), there)
}

/// Returns by how many bytes a cast of a class to another one moves the address.
fn distance(from: &Ty, to: &Ty) -> Result<u64, NotCompilable> {
    let place = ValueLocation::Memory(LoadAddr(NOWHERE), None);
    let object = Value::new(from.clone(), place);
    let depends = |_| {
        let (from, to) = (from.name(), to.name());
        NotCompilable::new(format!(
            "only the object shows where a `{to}` is in relation to its `{from}`"
        ))
    };
    let part = hierarchy::related(&NoProcess, &object, to).map_err(depends)?;
    // Unrelated classes have the same address.
    let addr = part.and_then(|part| part.address());
    Ok(addr.map_or(0, |addr| addr.0.wrapping_sub(NOWHERE)))
}

impl Compiler<'_> {
    /// Lowers a cast of an object, or of a pointer.
    #[inline(never)]
    pub(super) fn cast_of(
        &self,
        cast: Cast,
        inner: &Expr<'_>,
        of: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let value = self.lower(inner)?;
        value.each(&|value| self.cast_value(cast, value, &of.ty))
    }

    fn cast_value(
        &self,
        cast: Cast,
        value: &RuntimeValue,
        ty: &Ty,
    ) -> Result<RuntimeValue, NotCompilable> {
        let refused = || {
            let (from, to) = (value.ty.name(), ty.name());
            NotCompilable::new(format!("only the debugger casts a `{from}` to `{to}`"))
        };
        if let (Shape::Pointer(from, _), Shape::Pointer(to, _)) = (value.ty.shape(), ty.shape()) {
            let at = self.cast_address(cast, address_in(value)?, &from, &to)?;
            let place = RuntimeLocation::Int(at, Width::WORD);
            return Ok(RuntimeValue::new(ty.clone(), place));
        }
        let is_bool = check::scalar(ty).is_some_and(|it| it.kind == ScalarKind::Bool);
        let has_truth = matches!(
            library::contents(&value.ty),
            Some(Contents::Optional(_) | Contents::Pointee(_))
        );
        if is_bool
            && has_truth
            && library::method(&value.ty, "operator bool", &[]).is_some()
            && let Some(held) = self.held(value)?
        {
            return Ok(self.boolean(held.is_there));
        }
        match (value.ty.shape(), ty.shape()) {
            (Shape::Composite(_), Shape::Composite(_)) if value.ty.same_as(ty) => {
                Ok(RuntimeValue {
                    ty: ty.clone(),
                    ..value.clone()
                })
            }
            // A pointer of Rust as a number, or the other way round.
            (Shape::Pointer(..), Shape::Scalar(_)) | (Shape::Scalar(_), Shape::Pointer(..))
                if value.ty.size() == Some(8) && ty.size() == Some(8) =>
            {
                let word = value.place.raw(0, Width::WORD)?;
                let place = RuntimeLocation::Int(word, Width::WORD);
                Ok(RuntimeValue::new(ty.clone(), place))
            }
            _ => Err(refused()),
        }
    }

    /// Returns the address that a cast of a pointer makes.
    fn cast_address(&self, cast: Cast, at: Int, from: &Ty, to: &Ty) -> Result<Int, NotCompilable> {
        let classes = [from, to].map(|it| matches!(it.shape(), Shape::Composite(_)));
        if cast == Cast::Dynamic {
            return Err("`dynamic_cast` searches the class of the object".into());
        }
        match cast == Cast::Bits || classes != [true, true] || to.same_as(from) {
            true => Ok(at),
            false => Ok(moved(at, distance(from, to)?)),
        }
    }

    /// Lowers a cast to a reference.
    #[inline(never)]
    pub(super) fn cast_to_reference(
        &self,
        cast: Cast,
        name: &TypeName,
        inner: &Node,
    ) -> Result<RuntimeValue, NotCompilable> {
        let ty = self.type_of_name(name)?;
        let Shape::Pointer(to, _) = ty.shape() else {
            return Err(NotCompilable::not_a_value(&ty));
        };
        let object = self.value(inner)?.plain()?;
        object.each(&|object| {
            let RuntimeLocation::Memory(address) = &object.place else {
                return Err("a value that is not in memory has no address".into());
            };
            let at = address.clone().number();
            let at = self.cast_address(cast, at, &object.ty, &to)?;
            Ok(RuntimeValue::new(to.clone(), pointed(at)))
        })
    }

    /// Lowers an expression that only C and C++ have.
    #[inline(never)]
    pub(super) fn cpp(&self, form: &Cpp<'_>, of: &Expr<'_>) -> Result<RuntimeValue, NotCompilable> {
        let pointer = |at| RuntimeValue::new(of.ty.clone(), RuntimeLocation::Int(at, Width::WORD));
        match form {
            Cpp::Base(inner, parts) => {
                let at = self.word(inner)?;
                let Shape::Pointer(class, _) = inner.ty.shape() else {
                    return Ok(pointer(at));
                };
                let mut object = RuntimeValue::new(class, probe::nowhere());
                for part in parts {
                    object = self.part_of(&object, part)?;
                }
                let RuntimeLocation::Memory(there) = object.place else {
                    return Err("only the object shows where its base is".into());
                };
                match there.number() {
                    Int::Constant(there) => Ok(pointer(moved(at, there.wrapping_sub(NOWHERE)))),
                    _ => Err("only the object shows where its base is".into()),
                }
            }
            Cpp::Derived(inner, offset) => {
                let at = self.word(inner)?;
                Ok(pointer(moved(at, offset.wrapping_neg())))
            }
            Cpp::Guarded(guard, value, _) => {
                let guard = BoolExpr::of(self.word(guard)?);
                let value = self.lower(value)?;
                let missing = RuntimeValue::missing(value.ty.clone());
                Ok(RuntimeValue::choice(guard, value, missing))
            }
            Cpp::MemberAt(..)
            | Cpp::IsNullMember(_)
            | Cpp::IsSameMember(..)
            | Cpp::MovedMember(..) => Err("only the debugger uses pointers to members".into()),
            Cpp::Object(_) => Err("an object that the expression makes".into()),
            Cpp::TypeInfo(_) | Cpp::TypeName(_) | Cpp::IsSameType(..) => {
                Err("only the debugger knows types when the program runs".into())
            }
        }
    }
}
