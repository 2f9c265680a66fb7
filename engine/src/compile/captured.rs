//! Values captured at a hit, to be formatted later: all bytes that the formatter
//! ([`crate::inspect::value::write`]) will read, and their addresses. The text is the same as if the value
//! had been formatted at the hit.

use super::code::{Address, BoolExpr, Float, Int, Order, Width};
use super::containers::compare;
use super::lower::Compiler;
use super::numbers::{address_in, word_of};
use super::set::{self, Uses, Work};
use super::{NotCompilable, RuntimeLocation, RuntimeValue, Scope, check, probe, registers};
use crate::arch::Arch;
use crate::expr::Expression;
use crate::inspect::value::scalar::{self, Scalar, ScalarKind};
use crate::inspect::value::types::{ArrayTy, DwarfTy};
use crate::inspect::value::{Limits, PointerKind, Shape, Ty, members};
use dwarf::Language;
use std::sync::Arc;

mod format;

/// Maximum number of bytes of an object to capture.
const MAX_BYTES: u64 = 256;
/// Maximum number of memory blocks per value.
const MAX_BLOCKS: usize = 8;
/// Maximum nesting of objects.
const DEEPEST: usize = 8;
/// Size of a block's header in bytes: its address and length.
pub(super) const HEAD: usize = 16;
/// Minimum number of bytes of a text for a capture to be worth it.
const LEAST_TEXT: usize = 32;

/// A value to capture at a hit.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    ty: Ty,
    pub(super) kept: Kept,
    pub(super) blocks: Vec<Block>,
    /// Bytes available for each text; a longer one is a deopt.
    pub(super) room: usize,
    pub(super) uses: Uses,
}

/// The value itself.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// Its bytes in words, and their number.
    Words(Vec<(Int, Width, i32)>, usize),
    /// A computed float; `true`: 32 bits.
    Float(Float, bool),
    /// In memory: the first block.
    Block,
}

/// A piece of memory, captured with its address.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Whether it is captured at all.
    pub(super) when: BoolExpr,
    /// Its address.
    pub(super) at: Address,
    /// Its length.
    pub(super) extent: Extent,
}

/// The length of a block.
#[derive(Clone, Debug)]
pub(super) enum Extent {
    /// This number of bytes.
    Bytes(usize),
    /// Up to a zero unit of this size, at most as many bytes as are shown.
    Terminated(usize),
    /// A number of units, the maximum that is shown, and their size in bytes.
    Counted(Int, usize, usize),
}

impl Block {
    /// Returns the minimum size of its capture in bytes.
    fn least(&self) -> usize {
        HEAD + match self.extent {
            Extent::Bytes(size) => size.next_multiple_of(8),
            Extent::Terminated(_) | Extent::Counted(..) => 8,
        }
    }

    /// Returns the maximum number of bytes that are shown; `None` if it is not text.
    pub(super) fn most(&self) -> Option<usize> {
        match self.extent {
            Extent::Bytes(_) => None,
            // One more unit shows whether the text is cut off.
            Extent::Terminated(unit) => Some(Limits::default().string / unit * unit + unit),
            Extent::Counted(_, most, size) => Some(most * size),
        }
    }
}

impl Captured {
    /// Compiles the capture of the value of `expression` in `scope`.
    ///
    /// # Errors
    /// Why the value needs the interpreter.
    pub(crate) fn compile(
        expression: &Expression,
        scope: &dyn Scope,
    ) -> Result<Captured, NotCompilable> {
        let compiler = Compiler::new(expression, scope);
        let mut value = compiler.value(expression.root())?;
        for _ in 0..DEEPEST {
            let Some(next) = followed(&value)? else {
                break;
            };
            value = next;
        }
        let mut gathered = Gathered {
            compiler: &compiler,
            blocks: Vec::new(),
        };
        let kept = gathered.keep(&value)?;
        gathered.look_into(&value, &BoolExpr::Constant(true), 0)?;
        let mut captured = Captured {
            ty: value.ty,
            kept,
            blocks: gathered.blocks,
            room: usize::MAX,
            uses: Uses::default(),
        };
        let arch = scope.arch();
        captured.check(arch)?;
        captured.uses = set::uses(arch, Work::Capture(&captured))?;
        Ok(captured)
    }

    /// Compiles the capture of a number in at most eight bytes, or of an address, without what that
    /// points to.
    pub(super) fn of_word(
        value: &RuntimeValue,
        scope: &dyn Scope,
    ) -> Result<Captured, NotCompilable> {
        let kept = match (&value.place, crate::expr::check::scalar(&value.ty)) {
            (RuntimeLocation::Vector(..), Some(of)) if !of.is_integral() => {
                let single = of.kind == ScalarKind::Float(scalar::Float::Single);
                Kept::Float(super::numbers::float_at(value, single)?, single)
            }
            (_, Some(of)) if of.size <= 8 => {
                let width = Width {
                    size: of.size,
                    signed: false,
                };
                Kept::Words(vec![(value.place.raw(0, width)?, width, 0)], of.size.into())
            }
            _ => return Err(NotCompilable::not_a_value(&value.ty)),
        };
        let mut captured = Captured {
            ty: value.ty.clone(),
            kept,
            blocks: Vec::new(),
            room: usize::MAX,
            uses: Uses::default(),
        };
        let arch = scope.arch();
        captured.check(arch)?;
        captured.uses = set::uses(arch, Work::Capture(&captured))?;
        Ok(captured)
    }

    fn check(&self, arch: Arch) -> Result<(), NotCompilable> {
        let check = |needs| check(arch, needs);
        match &self.kept {
            Kept::Words(words, _) => {
                for (word, ..) in words {
                    check(word.needs())?;
                }
            }
            Kept::Float(float, _) => check(float.needs())?,
            Kept::Block => {}
        }
        for block in &self.blocks {
            check(block.when.needs())?;
            check(match &block.extent {
                Extent::Counted(count, ..) => block.at.needs().then(count.needs()),
                _ => block.at.needs(),
            })?;
        }
        Ok(())
    }

    /// Returns the bytes that a record needs without texts; in whole words.
    pub(crate) fn least(&self) -> usize {
        self.own_bytes() + self.blocks.iter().map(Block::least).sum::<usize>()
    }

    /// Returns whether the value is a text, or a container of contiguous elements, or refers to one: its other bytes only
    /// say where that is.
    pub(super) fn is_one_row(&self) -> bool {
        let mut ty = self.ty.clone();
        for _ in 0..DEEPEST {
            ty = match ty.shape() {
                Shape::Text | Shape::Pointer(_, PointerKind::Raw) => return true,
                Shape::Pointer(of, _) => of,
                Shape::Composite(class) => return class.visualizer().is_some(),
                _ => return false,
            };
        }
        false
    }

    /// Returns the number of bytes of the value's own words.
    pub(super) fn own_bytes(&self) -> usize {
        match &self.kept {
            Kept::Words(_, size) => size.next_multiple_of(8),
            Kept::Float(..) => 8,
            Kept::Block => 0,
        }
    }

    /// Returns the maximum number of bytes stored; in whole words.
    pub(crate) fn most(&self) -> usize {
        let texts = self.blocks.iter().filter_map(Block::most);
        let texts = texts.map(|most| most.min(self.room).next_multiple_of(8));
        self.least() + texts.sum::<usize>()
    }

    /// Returns the number of texts, whose lengths vary.
    pub(crate) fn texts(&self) -> usize {
        let texts = self.blocks.iter().filter(|block| block.most().is_some());
        texts.count()
    }

    /// Sets the number of bytes available for each text.
    ///
    /// # Errors
    /// That is too small.
    pub(crate) fn set_room(&mut self, room: usize) -> Result<(), NotCompilable> {
        let too_few = |block: &Block| block.most().is_some_and(|most| room < most.min(LEAST_TEXT));
        if self.blocks.iter().any(too_few) {
            return Err("too many values for one record".into());
        }
        self.room = room;
        Ok(())
    }

    /// Like [`super::Condition::clobbers`].
    pub(crate) fn clobbers(&self) -> impl Iterator<Item = dwarf::Register> + use<> {
        registers(self.uses.general)
    }

    /// Like [`super::Condition::uses_vectors`].
    pub(crate) fn uses_vectors(&self) -> bool {
        self.uses.vectors
    }
}

/// Returns the target of a reference, which is shown in its place.
fn followed(value: &RuntimeValue) -> Result<Option<RuntimeValue>, NotCompilable> {
    match value.ty.shape() {
        Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned)
            if !matches!(of.shape(), Shape::Void | Shape::Function) =>
        {
            match is_polymorphic(&of) {
                true => Err(depends_on_class(&of)),
                false => value.pointee(&of).map(Some),
            }
        }
        _ => Ok(None),
    }
}

fn is_polymorphic(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Composite(of) => of.composite().is_some_and(|it| it.polymorphic),
        _ => false,
    }
}

fn depends_on_class(ty: &Ty) -> NotCompilable {
    NotCompilable::new(format!(
        "the dynamic class of a `{}` must be looked up",
        ty.name()
    ))
}

/// Returns the number of bytes of a value that the formatter reads at most.
fn shown_size(ty: &Ty) -> Result<u64, NotCompilable> {
    let size = match ty.shape() {
        Shape::Array(array) => shown_of_array(&array),
        Shape::Text => return Err("a string literal is not in the program's memory".into()),
        Shape::Function => return Err("a function is not a value".into()),
        Shape::Void => return Err("unknown type".into()),
        _ => ty
            .size()
            .ok_or_else(|| NotCompilable::new(crate::expr::messages::unknown_size(ty)))?,
    };
    match size {
        ..=MAX_BYTES => Ok(size),
        _ => Err(NotCompilable::new(format!(
            "a `{}` is too large",
            ty.name()
        ))),
    }
}

fn shown_of_array(array: &ArrayTy) -> u64 {
    let limits = Limits::default();
    let count = array.count.unwrap_or(0);
    let all = count.saturating_mul(array.stride);
    match array.element.shape() {
        Shape::Scalar(_) => {
            all.min((limits.string as u64).max(limits.elements as u64 * array.stride))
        }
        _ => all.min((limits.elements as u64).saturating_mul(array.stride)),
    }
}

/// Returns the unit of the text that a pointer to this type points to, if the formatter treats it
/// as text.
fn text_unit(of: &Ty) -> Option<usize> {
    match of.shape() {
        Shape::Scalar(Scalar {
            kind:
                ScalarKind::SignedChar
                | ScalarKind::UnsignedChar
                | ScalarKind::PlainChar
                | ScalarKind::Utf,
            size: size @ (1 | 2 | 4),
        }) => Some(usize::from(size)),
        _ => None,
    }
}

struct Gathered<'a> {
    compiler: &'a Compiler<'a>,
    blocks: Vec<Block>,
}

impl Gathered<'_> {
    /// Returns how to capture the value's own bytes.
    fn keep(&mut self, value: &RuntimeValue) -> Result<Kept, NotCompilable> {
        if let (RuntimeLocation::Float(float), Shape::Scalar(scalar)) =
            (&value.place, value.ty.shape())
        {
            let single = scalar.kind == ScalarKind::Float(scalar::Float::Single);
            return Ok(Kept::Float(float.clone(), single));
        }
        let size = shown_size(&value.ty)?;
        if let (RuntimeLocation::Memory(address), None) = (&value.place, value.bits)
            && !value.ty.is_simple()
        {
            self.push(
                &BoolExpr::Constant(true),
                address.clone(),
                Extent::Bytes(size as usize),
            )?;
            return Ok(Kept::Block);
        }
        if value.bits.is_some() {
            if !matches!(size, 1 | 2 | 4 | 8) {
                return Err("a bit-field of this size".into());
            }
            let width = Width {
                size: size as u8,
                signed: false,
            };
            return Ok(Kept::Words(
                vec![(word_of(value)?, width, 0)],
                size as usize,
            ));
        }
        let mut words = Vec::new();
        let mut at = 0;
        while at < size {
            let (word, width) = widest(&value.place, at, size - at)?;
            words.push((word, width, at as i32));
            at += u64::from(width.size);
        }
        Ok(Kept::Words(words, size as usize))
    }

    fn push(&mut self, when: &BoolExpr, at: Address, extent: Extent) -> Result<(), NotCompilable> {
        if self.blocks.len() == MAX_BLOCKS {
            return Err("too many pointers to follow".into());
        }
        self.blocks.push(Block {
            when: when.clone(),
            at,
            extent,
        });
        Ok(())
    }

    /// Captures what the formatter shows besides the value's own bytes, which are captured already.
    fn look_into(
        &mut self,
        value: &RuntimeValue,
        when: &BoolExpr,
        depth: usize,
    ) -> Result<(), NotCompilable> {
        if depth == DEEPEST {
            return Err("nested too deeply".into());
        }
        match value.ty.shape() {
            Shape::Scalar(_)
            | Shape::Foreign(_)
            | Shape::Enumeration(_)
            | Shape::Unit
            | Shape::MemberPointer(_) => Ok(()),
            Shape::Pointer(of, PointerKind::Raw) => self.pointer(value, &of, when),
            Shape::Pointer(of, _) => match followed(value)? {
                Some(pointee) => {
                    let RuntimeLocation::Memory(address) = &pointee.place else {
                        return Err("a reference to a value that is not in memory".into());
                    };
                    let size = shown_size(&of)? as usize;
                    self.push(when, address.clone(), Extent::Bytes(size))?;
                    self.look_into(&pointee, when, depth + 1)
                }
                None => Ok(()),
            },
            Shape::Array(array) => self.array(value, &array, when, depth),
            Shape::Composite(ty) => self.composite(value, &ty, when, depth),
            Shape::Void
            | Shape::Function
            | Shape::Text
            | Shape::Synthetic(_)
            | Shape::Broken(_) => Err(NotCompilable::not_a_value(&value.ty)),
        }
    }

    fn pointer(
        &mut self,
        value: &RuntimeValue,
        of: &Ty,
        when: &BoolExpr,
    ) -> Result<(), NotCompilable> {
        if value.ty.language() == Language::Rust {
            return Ok(());
        }
        if is_polymorphic(of) {
            return Err(depends_on_class(of));
        }
        let Some(unit) = text_unit(of) else {
            return Ok(());
        };
        let address = address_in(value)?;
        let there = compare(Order::Ne, &address, &Int::Constant(0));
        let when = when.clone().and(there);
        self.push(&when, Address::pointed(address), Extent::Terminated(unit))
    }

    fn array(
        &mut self,
        value: &RuntimeValue,
        array: &ArrayTy,
        when: &BoolExpr,
        depth: usize,
    ) -> Result<(), NotCompilable> {
        let shown = array
            .count
            .unwrap_or(0)
            .min(Limits::default().elements as u64);
        for index in 0..shown {
            let before = self.blocks.len();
            let place = value
                .place
                .clone()
                .offset(index.saturating_mul(array.stride))?;
            let element = RuntimeValue::new(array.element.clone(), place);
            self.look_into(&element, when, depth + 1)?;
            if self.blocks.len() == before {
                // If the first element needs no block, the others do not either.
                break;
            }
        }
        Ok(())
    }

    fn composite(
        &mut self,
        value: &RuntimeValue,
        ty: &Arc<DwarfTy>,
        when: &BoolExpr,
        depth: usize,
    ) -> Result<(), NotCompilable> {
        if ty.visualizer().is_some() {
            return self.row(value, when, depth);
        }
        let Some(composite) = ty.composite() else {
            return Err(NotCompilable::not_a_value(&value.ty));
        };
        if let Some(part) = &composite.variants {
            for variant in &part.variants {
                let Some(holder) = variant.members.first() else {
                    continue;
                };
                let payload = probe::part(value, |target, object| {
                    members::member(target, object, ty, holder).map(Some)
                })?;
                let is = self.compiler.is_variant(value, ty, &holder.name)?;
                let (Some(payload), Some(is)) = (payload, is) else {
                    return Err("a variant is missing".into());
                };
                self.look_into(&payload, &when.clone().and(is), depth + 1)?;
            }
            return Ok(());
        }
        for base in &composite.bases {
            let part = probe::part(value, |target, object| {
                members::base(target, object, ty, base).map(Some)
            })?;
            self.look_into(&part.ok_or("a base is missing")?, when, depth + 1)?;
        }
        for member in composite.members.iter().filter(|it| !it.artificial) {
            let part = probe::part(value, |target, object| {
                members::member(target, object, ty, member).map(Some)
            })?;
            self.look_into(&part.ok_or("a member is missing")?, when, depth + 1)?;
        }
        Ok(())
    }

    /// Captures the text or the first elements of a contiguous container.
    fn row(
        &mut self,
        value: &RuntimeValue,
        when: &BoolExpr,
        depth: usize,
    ) -> Result<(), NotCompilable> {
        let says_more =
            || NotCompilable::new(format!("`{}` has a pretty-printer", value.ty.name()));
        let row = self.compiler.row(value)?.ok_or_else(says_more)?;
        let limits = Limits::default();
        let (most, size) = match row.text {
            Some(unit) => (limits.string / unit as usize, unit as usize),
            None => {
                let size = row.element.size().unwrap_or(0);
                if size == 0 || size > MAX_BYTES / 4 {
                    return Err(NotCompilable::new(format!(
                        "elements of `{}` are too large",
                        value.ty.name()
                    )));
                }
                let before = self.blocks.len();
                let element = RuntimeValue::new(row.element.clone(), probe::nowhere());
                self.look_into(&element, when, depth + 1)?;
                if self.blocks.len() > before {
                    return Err(NotCompilable::new(format!(
                        "elements of `{}` contain pointers",
                        value.ty.name()
                    )));
                }
                (limits.elements, size as usize)
            }
        };
        let len = match row.invalid {
            BoolExpr::Constant(false) => row.len.clone(),
            invalid => Int::Unless(Box::new(invalid), Box::new(row.len.clone())),
        };
        let any = BoolExpr::compare(Order::Ne, false, len, Int::Constant(0));
        let when = when.clone().and(any);
        let extent = Extent::Counted(row.len, most, size);
        self.push(&when, Address::pointed(row.at), extent)
    }
}

/// Returns the longest word that begins at a byte and lies in one place.
fn widest(place: &RuntimeLocation, at: u64, left: u64) -> Result<(Int, Width), NotCompilable> {
    let mut outcome = Err("it has size 0".into());
    for size in [8u8, 4, 2, 1] {
        if u64::from(size) <= left {
            let width = Width {
                size,
                signed: false,
            };
            outcome = place.raw(at, width).map(|word| (word, width));
            if outcome.is_ok() {
                break;
            }
        }
    }
    outcome
}
