//! Formats a value as one line, bounded in length, depth and reads.

mod composed;

use super::children;
use super::foreign::Foreign;
use super::members;
use super::objects::{Called, Objects};
use super::scalar::{self, Int, ScalarKind};
use super::synthetic;
use super::types::DwarfTy;
use super::{
    Limits, Pointees, PointerKind, Presentation, Shape, Target, Ty, Value, ValueLocation, text,
};
use crate::arch::Arch;
use crate::ids::error::Error;
use crate::inspect::abi::MemberPointer;
use crate::inspect::dynamic_class;
use crate::inspect::library;
use crate::inspect::visualize::{self, objc};
use dwarf::{Language, LoadAddr, Symbol};
use std::fmt::Write;
use std::sync::Arc;

/// Maximum nesting of formatted values, including references.
const NESTING: usize = 24;

/// Placeholder for hidden addresses.
const HIDDEN: &str = "0x…";

/// Appends a value as one line to `out`. Returns true if the text is an error.
pub fn write(target: &dyn Target, value: &Value, limits: &Limits, out: &mut String) -> bool {
    let (text, error) = written(target, value, limits, None);
    out.push_str(&text);
    error.is_some()
}

fn written(
    target: &dyn Target,
    value: &Value,
    limits: &Limits,
    objects: Option<&mut Objects>,
) -> (String, Option<Error>) {
    let mut writer = Writer {
        target,
        limits,
        objects: objects.filter(|_| limits.pointees == Pointees::Numbered),
        behind_pointer: false,
        // Most values are numbers.
        out: String::with_capacity(24),
        level: 0,
    };
    let error = writer.value(value, 0).err();
    let mut text = writer.out;
    if let Some(error) = &error {
        text.clear();
        text.push_str(&bracketed(error));
    } else if text.len() > limits.text {
        let end = (0..=limits.text)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    (text, error)
}

/// Formats a value for display.
pub fn present(target: &dyn Target, value: &Value, limits: &Limits) -> Presentation {
    presented(target, value, limits, None)
}

/// Formats a value for display. The targets of its pointers are numbered in `objects` if `limits`
/// requests it.
pub fn present_with(
    target: &dyn Target,
    value: &Value,
    limits: &Limits,
    objects: &mut Objects,
) -> Presentation {
    presented(target, value, limits, Some(objects))
}

fn presented(
    target: &dyn Target,
    value: &Value,
    limits: &Limits,
    objects: Option<&mut Objects>,
) -> Presentation {
    let (text, error) = written(target, value, limits, objects);
    let is_error = error.is_some();
    let mut presentation = Presentation {
        text,
        type_name: function_type(target, value).unwrap_or_else(|| value.ty.name()),
        memory: value.address(),
        error,
        ..Presentation::default()
    };
    if is_error
        && matches!(
            value.place,
            ValueLocation::OptimizedOut | ValueLocation::Failed(_)
        )
    {
        return presentation;
    }
    let shape = value.ty.shape();
    presentation.writable = is_writable(target, value, &shape);
    match &shape {
        Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Unit => return presentation,
        Shape::Pointer(of, _) => {
            if let Ok(addr) = value.raw(target) {
                let addr = LoadAddr(addr as u64);
                presentation.memory = Some(addr);
                if matches!(of.shape(), Shape::Function) {
                    presentation.function = function_at(target, addr);
                }
            }
        }
        Shape::Function => {
            presentation.function = value.address().and_then(|addr| function_at(target, addr));
        }
        _ => {}
    }
    (presentation.named, presentation.indexed) = children::count(target, value);
    presentation
}

fn is_writable(target: &dyn Target, value: &Value, shape: &Shape) -> bool {
    if let Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) = shape {
        return of.is_simple()
            && value
                .pointee(target, of.clone())
                .is_ok_and(|it| it.address().is_some_and(|addr| addr.0 != 0));
    }
    let place = match &value.place {
        ValueLocation::Memory(..) => true,
        ValueLocation::Register { register, .. } => register.level == 0,
        _ => false,
    };
    place
        && match shape {
            Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Pointer(..) => true,
            // Enums of Rust, strings, cells and atomics.
            Shape::Composite(class) => {
                class.composite().is_some_and(|it| it.variants.is_some())
                    || library::is_assignable(&value.ty)
            }
            _ => false,
        }
}

/// Formats an error as a value's text.
fn bracketed(error: &Error) -> String {
    let text = error.to_string();
    if text.starts_with('<') {
        text
    } else {
        format!("<{text}>")
    }
}

struct Writer<'a> {
    target: &'a dyn Target,
    limits: &'a Limits,
    /// Numbers of the targets of pointers, if they are to be shown.
    objects: Option<&'a mut Objects>,
    /// Whether the value is the target of a pointer: pointers in it show numbers only.
    behind_pointer: bool,
    out: String,
    level: usize,
}

impl Writer<'_> {
    fn full(&self) -> bool {
        self.out.len() > self.limits.text
    }

    /// Writes a value; `depth` is its nesting level. On an error nothing of the value is written.
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if self.level >= NESTING {
            self.out.push_str("...");
            return Ok(());
        }
        self.level += 1;
        let start = self.out.len();
        let outcome = self.value_here(value, depth);
        if outcome.is_err() {
            self.out.truncate(start);
        }
        self.level -= 1;
        outcome
    }

    fn value_or_error(&mut self, value: Result<Value, Error>, depth: usize) {
        let outcome = value.and_then(|value| self.value(&value, depth));
        if let Err(error) = outcome {
            self.out.push_str(&bracketed(&error));
        }
    }

    fn value_here(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        match &value.place {
            ValueLocation::OptimizedOut => return Err(Error::OptimizedOut),
            ValueLocation::Failed(error) => return Err((**error).clone()),
            _ => {}
        }
        if let Some(text) = value.made_text() {
            return self.value(&text, depth);
        }
        match value.ty.shape() {
            Shape::Void => self.out.push_str("void"),
            Shape::Unit => self.out.push_str("()"),
            Shape::Broken(why) => return Err(Error::Unsupported(why.to_string())),
            Shape::Scalar(scalar) => {
                let bytes = value.bytes(self.target)?;
                scalar::write_scalar(
                    &mut self.out,
                    scalar,
                    &bytes,
                    value.ty.language(),
                    self.limits.numbers,
                );
            }
            Shape::Foreign(Foreign::Reversed(_)) if value.bits.is_some() => {
                return Err(Error::Unsupported(
                    "a bit-field of the other byte order is not read".into(),
                ));
            }
            Shape::Foreign(foreign) => {
                let bytes = value.bytes(self.target)?;
                let how = (value.ty.language(), self.limits.numbers);
                foreign.write(&mut self.out, &bytes, how);
            }
            Shape::Enumeration(ty) => self.enumeration(value, &ty)?,
            Shape::Pointer(of, PointerKind::Reference) => {
                let referent = value.pointee(self.target, of)?;
                self.value(&visualize::in_truth(self.target, referent), depth)?;
            }
            Shape::Pointer(of, PointerKind::Owned) => {
                let pointee = value.pointee(self.target, of.clone())?;
                let is_temporary = value.place.temporary().is_some();
                let addr = pointee.address().unwrap_or_default();
                if addr.0 == 0 && !is_temporary
                    || matches!(of.shape(), Shape::Void | Shape::Function)
                {
                    self.address(addr, &of);
                } else {
                    self.value(&pointee, depth)?;
                }
            }
            Shape::Pointer(_, PointerKind::Raw)
                if let Some(literal) = value.place.temporary()
                    && matches!(literal.ty, Ty::Text) =>
            {
                self.value(&literal, depth)?;
            }
            Shape::Pointer(of, PointerKind::Raw) => {
                let addr = LoadAddr(value.raw(self.target)? as u64);
                let mut remark = None;
                if objc::concerns(&value.ty, &of) {
                    if let Some(view) = objc::view(self.target, value) {
                        return self.view(view, value.ty.language(), depth);
                    }
                    remark = objc::remark(self.target, value);
                }
                if self.object(addr, &of, depth) {
                    return Ok(());
                }
                self.address(addr, &of);
                if let Some(remark) = remark {
                    let _ = write!(self.out, " {remark}");
                    return Ok(());
                }
                if value.ty.language() != Language::Rust {
                    self.pointed_text(addr, &of);
                    if depth > 0 || self.behind_pointer || !self.pointee(addr, &of) {
                        self.pointed_class(addr, of);
                    }
                }
            }
            Shape::MemberPointer(is_function) => self.member_pointer(value, is_function)?,
            Shape::Function => {
                let addr = value.address().ok_or(Error::OptimizedOut)?;
                self.address(addr, &value.ty);
                if let (Ty::Function(name), false) = (&value.ty, self.out.ends_with('>')) {
                    let _ = write!(self.out, " <{name}>");
                }
            }
            Shape::Text => {
                let bytes = value.place.literal()?;
                let len = bytes.len().min(self.limits.string);
                text::write_quoted(&mut self.out, &bytes[..len], len < bytes.len());
            }
            Shape::Array(array) => self.array(value, &array, depth)?,
            Shape::Composite(ty) => self.composite(value, &ty, depth)?,
            Shape::Synthetic(ty) => {
                let view = synthetic::view(self.target, value, &ty)?;
                self.view(view, ty.language(), depth)?;
            }
        }
        Ok(())
    }

    fn address(&mut self, addr: LoadAddr, of: &Ty) {
        let _ = match self.limits.addresses || addr.0 == 0 {
            true => write!(self.out, "{:#x}", addr.0),
            false => write!(self.out, "{HIDDEN}"),
        };
        if addr.0 != 0
            && matches!(of.shape(), Shape::Function)
            && let Some((name, offset)) = symbol(self.target, addr)
        {
            let _ = match offset {
                0 => write!(self.out, " <{name}>"),
                _ => write!(self.out, " <{name}+{offset}>"),
            };
        }
    }

    /// Writes `→ #3`, and the object unless it has been written. Returns false if nothing is
    /// written, because the pointer is more informative by itself.
    fn object(&mut self, addr: LoadAddr, of: &Ty, depth: usize) -> bool {
        let is_text =
            |scalar: scalar::Scalar| scalar.is_narrow_character() || scalar.kind == ScalarKind::Utf;
        let shape = of.shape();
        let is_plain = match &shape {
            Shape::Function => true,
            Shape::Scalar(scalar) => is_text(*scalar),
            _ => addr.0 == 0,
        };
        if self.objects.is_none() || is_plain || addr.0 == 0 {
            return false;
        }
        let pointee = Value::new(of.clone(), ValueLocation::Memory(addr, None));
        let pointee = visualize::in_truth(self.target, pointee);
        let whole = pointee.address().unwrap_or(addr);
        let objects = self.objects.as_deref_mut();
        let Some((called, objects)) =
            objects.and_then(|it| Some((it.called(whole, &pointee.ty)?, it)))
        else {
            return false;
        };
        let start = self.out.len();
        if self.limits.addresses {
            let _ = write!(self.out, "{:#x} ", addr.0);
        }
        let number = match called {
            Called::Variable(name) => {
                let _ = write!(self.out, "→ {name}");
                return true;
            }
            Called::Number(number) => number,
        };
        let _ = write!(self.out, "→ #{number}");
        let is_shown = !self.behind_pointer
            && depth + 1 < self.limits.depth
            && !matches!(shape, Shape::Void)
            && objects.write(number);
        if is_shown {
            self.out.push(' ');
            self.behind_pointer = true;
            let outcome = self.value(&pointee, depth + 1);
            self.behind_pointer = false;
            if let Err(error) = outcome {
                // Show the address of a wild pointer.
                self.out.truncate(start);
                let _ = write!(self.out, "{:#x} {}", addr.0, bracketed(&error));
            }
        }
        true
    }

    /// Writes the target of a pointer that is shown by itself, if targets are shown. Returns whether it has: characters,
    /// code, and what cannot be read or is not known are not shown.
    fn pointee(&mut self, addr: LoadAddr, of: &Ty) -> bool {
        let is_known = match of.shape() {
            Shape::Void | Shape::Function | Shape::Text => false,
            Shape::Scalar(it) => !it.is_narrow_character() && it.kind != ScalarKind::Utf,
            Shape::Composite(ty) => ty.composite().is_some_and(|it| !it.declaration),
            _ => true,
        };
        if self.limits.pointees != Pointees::Shown || !is_known || addr.0 == 0 {
            return false;
        }
        let start = self.out.len();
        self.out.push_str(" → ");
        let pointee = Value::new(of.clone(), ValueLocation::Memory(addr, None));
        self.behind_pointer = true;
        let outcome = self.value(&visualize::in_truth(self.target, pointee), 1);
        self.behind_pointer = false;
        if outcome.is_err() {
            self.out.truncate(start);
        }
        outcome.is_ok()
    }

    /// Writes the dynamic class of the object that a base pointer points to.
    fn pointed_class(&mut self, addr: LoadAddr, of: Ty) {
        let part = Value::new(of, ValueLocation::Memory(addr, None));
        if let Some(whole) = dynamic_class::other(self.target, &part) {
            let _ = write!(self.out, " ({})", whole.ty.name());
        }
    }

    /// Writes `&Class::member` (Itanium C++ ABI §2.3).
    fn member_pointer(&mut self, value: &Value, is_function: bool) -> Result<(), Error> {
        let class = value.ty.member_pointer().map_or(Ty::Void, |it| it.0);
        let arch = match &class {
            Ty::Dwarf(class) => Arch::of(class.module().machine()),
            _ => None,
        };
        let bits = value.raw(self.target)?;
        match MemberPointer::of(arch.unwrap_or_default(), is_function, bits) {
            member if member.is_null() => self.out.push_str("nullptr"),
            MemberPointer::Virtual(offset, _) => {
                let entry = offset / 8;
                let _ = write!(self.out, "<virtual function {entry} of {}>", class.name());
            }
            MemberPointer::Function(entry, _) => {
                self.address(LoadAddr(entry), &Ty::Function("code".into()));
            }
            MemberPointer::Data(offset) => {
                let offset = offset.unwrap_or(0);
                match members::name_at(&class, offset) {
                    Some(name) => drop(write!(self.out, "&{}::{name}", class.name())),
                    None => drop(write!(self.out, "{offset}")),
                }
            }
        }
        Ok(())
    }

    /// Writes the string that a pointer to characters points to.
    fn pointed_text(&mut self, addr: LoadAddr, of: &Ty) {
        let Shape::Scalar(scalar) = of.shape() else {
            return;
        };
        let plain = match scalar.kind {
            ScalarKind::SignedChar | ScalarKind::PlainChar | ScalarKind::Utf => false,
            ScalarKind::UnsignedChar => true,
            _ => return,
        };
        let Some(unit) = text::Unit::of(of).filter(|_| addr.0 != 0) else {
            return;
        };
        let (memory, most) = (self.target.memory(), self.limits.string);
        let Ok((bytes, cut)) = text::read_terminated(memory, addr, unit.size(), most) else {
            return;
        };
        // Bytes count as text only if all are printable.
        if plain && (cut || bytes.is_empty() || !bytes.iter().all(|it| (32..127).contains(it))) {
            return;
        }
        self.out.push(' ');
        text::write(&mut self.out, &bytes, unit, cut);
    }

    fn enumeration(&mut self, value: &Value, ty: &Arc<DwarfTy>) -> Result<(), Error> {
        let Some(enumeration) = ty.enumeration() else {
            return Err(Error::Unsupported("no enumeration".into()));
        };
        let bytes = value.bytes(self.target)?;
        let int = Int::new(
            scalar::bits_of(&bytes),
            bytes.len() as u8,
            enumeration.signed,
        );
        let number = int.value();
        let all = &enumeration.enumerators;
        if let Some(found) = all.iter().find(|it| it.value == number) {
            self.out.push_str(&found.name);
            return Ok(());
        }
        let mut seen = 0;
        let are_flags = all.iter().all(|it| {
            let fresh = it.value & seen == 0;
            seen |= it.value;
            it.value >= 0 && fresh
        });
        if are_flags && number > 0 && number & !seen == 0 {
            let mut left = number;
            let start = self.out.len();
            for flag in all.iter().filter(|it| it.value != 0) {
                if left & flag.value == flag.value {
                    left &= !flag.value;
                    if self.out.len() > start {
                        self.out.push_str(" | ");
                    }
                    self.out.push_str(&flag.name);
                }
            }
            if left == 0 {
                return Ok(());
            }
            self.out.truncate(start);
        }
        let _ = match ty.language() {
            Language::Rust => write!(self.out, "<invalid {} {number}>", value.ty.name()),
            _ => write!(self.out, "({}){number}", value.ty.name()),
        };
        Ok(())
    }
}

/// Returns the type of a function, or of a pointer to one, from the debug info of its address if
/// the value's type does not have it.
fn function_type(target: &dyn Target, value: &Value) -> Option<Arc<str>> {
    let (addr, pointer) = match &value.ty {
        Ty::Function(_) => (value.address()?, ""),
        Ty::Pointer(of) if matches!(**of, Ty::Function(_)) => {
            (LoadAddr(value.raw(target).ok()? as u64), "(*)")
        }
        _ => return None,
    };
    let (module, bias) = target.module_at(addr)?;
    let function = module.function_at(bias.file(addr))?;
    if function.entry != bias.file(addr) {
        return None;
    }
    let name = |id| Ty::of(&module, bias, id).name();
    let parameters = function.scope.variables.iter();
    let parameters: Vec<Arc<str>> = parameters
        .filter(|it| it.kind == dwarf::VariableKind::Parameter && !it.artificial)
        .map(|it| name(it.ty))
        .collect();
    let parameters = match (function.language, parameters.is_empty()) {
        (Language::C, true) => "void".to_owned(),
        _ => parameters.join(", "),
    };
    let text = match (function.language, function.return_type) {
        (Language::Rust, None) => format!("fn({parameters})"),
        (Language::Rust, returned) => format!("fn({parameters}) -> {}", name(returned)),
        (_, returned) => format!("{} {pointer}({parameters})", name(returned)),
    };
    Some(text.into())
}

/// Returns the declaration of the function that begins at an address.
fn function_at(target: &dyn Target, addr: LoadAddr) -> Option<dwarf::SourceLocation> {
    let (module, bias) = target.module_at(addr)?;
    let function = module.function_at(bias.file(addr))?;
    (function.entry == bias.file(addr)).then(|| function.declaration.clone())?
}

/// Returns the symbol at an address and the offset in it, in bytes.
pub(super) fn symbol(target: &dyn Target, addr: LoadAddr) -> Option<(String, u64)> {
    let (module, bias) = target.module_at(addr)?;
    let file = bias.file(addr);
    let Symbol { name, addr, .. } = module.symbol_at(file)?;
    Some((dwarf::demangle(name).into_owned(), file - addr))
}
