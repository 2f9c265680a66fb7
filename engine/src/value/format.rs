//! A value in one line, bounded in every direction.

use super::children::{self, Row, Whole};
use super::members::{self, Part};
use super::scalar::{self, Int, Scalar, ScalarKind};
use super::types::DwarfTy;
use super::{Limits, Place, PointerKind, Presentation, Shape, Target, Ty, Value, text};
use crate::error::Error;
use crate::visualize::{self, Collection, CollectionKind, View};
use dwarf::{Language, LoadAddr, Symbol, TypeKind};
use std::fmt::Write;
use std::sync::Arc;

/// Values within values that are written, references counted.
const NESTING: usize = 24;

/// A value for people.
pub fn present(target: &dyn Target, value: &Value, limits: &Limits) -> Presentation {
    let mut writer = Writer {
        target,
        limits,
        out: String::new(),
        level: 0,
    };
    let outcome = writer.value(value, 0);
    let is_error = outcome.is_err();
    let mut text = writer.out;
    if let Err(error) = outcome {
        text.clear();
        text.push_str(&bracketed(&error));
    } else if text.len() > limits.text {
        let end = (0..=limits.text)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    let mut presentation = Presentation {
        text,
        type_name: value.ty.name(),
        memory: value.address(),
        is_error,
        ..Presentation::default()
    };
    if is_error && matches!(value.place, Place::OptimizedOut | Place::Failed(_)) {
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
        Place::Memory(..) => true,
        Place::Register { register, .. } => register.level == 0,
        _ => false,
    };
    place
        && matches!(
            shape,
            Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Pointer(..)
        )
}

/// An error as a value's text.
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
    out: String,
    level: usize,
}

impl Writer<'_> {
    fn full(&self) -> bool {
        self.out.len() > self.limits.text
    }

    /// Writes a value; `depth` counts what it is nested in. After an error nothing of the
    /// value is written.
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
            Place::OptimizedOut => return Err(Error::OptimizedOut),
            Place::Failed(error) => return Err((**error).clone()),
            _ => {}
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
            Shape::Enumeration(ty) => self.enumeration(value, &ty)?,
            Shape::Pointer(of, PointerKind::Reference) => {
                let referent = value.pointee(self.target, of)?;
                self.value(&visualize::in_truth(self.target, referent), depth)?;
            }
            Shape::Pointer(of, PointerKind::Owned) => {
                let pointee = value.pointee(self.target, of.clone())?;
                let addr = pointee.address().unwrap_or_default();
                if addr.0 == 0 || matches!(of.shape(), Shape::Void | Shape::Function) {
                    self.address(addr, &of);
                } else {
                    self.value(&pointee, depth)?;
                }
            }
            Shape::Pointer(of, PointerKind::Raw) => {
                let addr = LoadAddr(value.raw(self.target)? as u64);
                self.address(addr, &of);
                if value.ty.language() != Language::Rust {
                    self.pointed_text(addr, &of);
                    self.pointed_class(addr, of);
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
                let Place::Bytes(bytes) = &value.place else {
                    return Err(Error::OptimizedOut);
                };
                let len = bytes.len().min(self.limits.string);
                text::write_quoted(&mut self.out, &bytes[..len], len < bytes.len());
            }
            Shape::Array(array) => {
                if depth >= self.limits.depth {
                    self.folded(value.ty.language());
                } else {
                    self.array(value, &array, depth)?;
                }
            }
            Shape::Composite(ty) => self.composite(value, &ty, depth)?,
        }
        Ok(())
    }

    fn folded(&mut self, language: Language) {
        self.out.push_str(if language == Language::Rust {
            "{…}"
        } else {
            "{...}"
        });
    }

    fn address(&mut self, addr: LoadAddr, of: &Ty) {
        let _ = write!(self.out, "{:#x}", addr.0);
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

    /// The class of the object that a pointer to its base points to.
    fn pointed_class(&mut self, addr: LoadAddr, of: Ty) {
        let part = Value::new(of, Place::Memory(addr, None));
        if let Some(whole) = visualize::standard::callable::whole_object(self.target, &part) {
            let _ = write!(self.out, " ({})", whole.ty.name());
        }
    }

    /// `&Class::member` (Itanium C++ ABI §2.3).
    fn member_pointer(&mut self, value: &Value, is_function: bool) -> Result<(), Error> {
        let raw = value.raw(self.target)? as u64;
        let ty = value.ty.strip();
        let class = match &ty {
            Ty::Dwarf(ty) => match ty.ty.kind {
                TypeKind::PointerToMember { class, .. } => ty.related_or_void(class),
                _ => Ty::Void,
            },
            _ => Ty::Void,
        };
        if raw == if is_function { 0 } else { u64::MAX } {
            self.out.push_str("nullptr");
        } else if is_function && raw & 1 == 1 {
            let entry = raw / 8;
            let _ = write!(self.out, "<virtual function {entry} of {}>", class.name());
        } else if is_function {
            self.address(LoadAddr(raw), &Ty::Function("code".into()));
        } else if let Some(name) = members::name_at(&class, raw) {
            let _ = write!(self.out, "&{}::{name}", class.name());
        } else {
            let _ = write!(self.out, "{raw}");
        }
        Ok(())
    }

    /// The string that a pointer to characters points to.
    fn pointed_text(&mut self, addr: LoadAddr, of: &Ty) {
        let Shape::Scalar(scalar) = of.shape() else {
            return;
        };
        let unit = usize::from(scalar.size);
        let plain = match scalar.kind {
            ScalarKind::SignedChar | ScalarKind::Utf => false,
            ScalarKind::UnsignedChar => true,
            _ => return,
        };
        if addr.0 == 0 || !matches!(unit, 1 | 2 | 4) {
            return;
        }
        let memory = self.target.memory();
        let Ok((bytes, cut)) = text::read_terminated(memory, addr, unit, self.limits.string) else {
            return;
        };
        // Bytes are text only if they look like it.
        if plain && (cut || bytes.is_empty() || !bytes.iter().all(|it| (32..127).contains(it))) {
            return;
        }
        self.out.push(' ');
        self.quoted(&bytes, unit, cut);
    }

    fn quoted(&mut self, bytes: &[u8], unit: usize, cut: bool) {
        if unit == 1 {
            text::write_quoted(&mut self.out, bytes, cut);
        } else {
            text::write_wide(&mut self.out, bytes, unit, cut);
        }
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

    fn array(
        &mut self,
        value: &Value,
        array: &super::types::ArrayTy,
        depth: usize,
    ) -> Result<(), Error> {
        let language = value.ty.language();
        let Some(count) = array.count else {
            self.out.push_str("<array of unknown length>");
            return Ok(());
        };
        // A vector register of small numbers is no text.
        let vector = matches!(value.ty.strip(), Ty::Dwarf(ty)
            if matches!(&ty.ty.kind, TypeKind::Array(array) if array.vector));
        if let (Shape::Scalar(scalar), false) = (array.element.shape(), vector) {
            let text = match scalar.kind {
                ScalarKind::SignedChar => scalar.size == 1,
                ScalarKind::Utf => language != Language::Rust && matches!(scalar.size, 1 | 2 | 4),
                _ => false,
            };
            if text {
                return self.char_array(value, usize::from(scalar.size), count);
            }
        }
        let row = Row {
            place: value.place.clone(),
            element: array.element.clone(),
            stride: array.stride,
            count,
        };
        self.row(&row, language, depth)
    }

    fn char_array(&mut self, value: &Value, unit: usize, count: u64) -> Result<(), Error> {
        let len = count.saturating_mul(unit as u64);
        let bound = len.min(self.limits.string as u64 / unit as u64 * unit as u64);
        let bytes = value.place.read(self.target, bound as usize)?;
        let end = bytes
            .chunks(unit)
            .position(|unit| unit.iter().all(|byte| *byte == 0));
        let cut = end.is_none() && bound < len;
        let end = end.map_or(bytes.len(), |units| units * unit);
        self.quoted(&bytes[..end], unit, cut);
        Ok(())
    }

    /// Elements between the language's brackets.
    fn row(&mut self, row: &Row, language: Language, depth: usize) -> Result<(), Error> {
        let (open, close) = match language {
            Language::Rust => ('[', ']'),
            _ => ('{', '}'),
        };
        let shown = row.count.min(self.limits.elements as u64);
        let values = row.values(self.target, 0..shown)?;
        self.out.push(open);
        let bytes = match row.element.shape() {
            Shape::Scalar(
                scalar @ Scalar {
                    kind: ScalarKind::UnsignedChar,
                    ..
                },
            ) => Some(scalar),
            _ => None,
        };
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            if self.full() {
                break;
            }
            match (bytes, value.raw(self.target)) {
                (Some(scalar), Ok(bits)) => {
                    let int = Int::new(bits, scalar.size, false);
                    scalar::write_int(&mut self.out, int, self.limits.numbers);
                }
                _ => {
                    let outcome = self.value(value, depth + 1);
                    if let Err(error) = outcome {
                        // The others would say the same.
                        if index == 0 {
                            return Err(error);
                        }
                        self.out.push_str(&bracketed(&error));
                        break;
                    }
                }
            }
        }
        if shown < row.count {
            self.out.push_str(", ...");
        }
        self.out.push(close);
        Ok(())
    }

    fn composite(&mut self, value: &Value, ty: &Arc<DwarfTy>, depth: usize) -> Result<(), Error> {
        let language = ty.language();
        match visualize::view(self.target, value) {
            Some(View::Invalid(why)) => {
                self.out.push_str(&why);
                return Ok(());
            }
            Some(View::Text { at, len, unit }) => return self.text(at, len, unit),
            Some(View::Plain(text)) => {
                self.out.push_str(&text);
                return Ok(());
            }
            Some(View::Pointee(next)) => return self.value(&next, depth),
            Some(View::Noted(next, note)) => {
                self.value(&next, depth)?;
                let _ = write!(self.out, " ({note})");
                return Ok(());
            }
            Some(_) if depth >= self.limits.depth => {
                self.folded(language);
                return Ok(());
            }
            Some(View::Fields { head, fields }) => {
                self.fields(&head, &fields, language, depth);
                return Ok(());
            }
            Some(View::Sequence { at, element, len }) => {
                self.row(&Row::in_memory(at, element, len), language, depth)?;
                self.count(len, depth);
                return Ok(());
            }
            Some(View::Collection(collection)) => {
                return self.collection(&collection, language, depth);
            }
            None => {}
        }
        if let Some((name, payload)) = members::active_variant(self.target, value, ty)? {
            if let Shape::Composite(inner) = payload.ty.shape() {
                return self.rust_struct(&name, &payload, &inner, depth);
            }
            self.out.push_str(&name);
            return Ok(());
        }
        if ty.composite().is_some_and(|it| it.declaration) {
            self.out.push_str("<incomplete type>");
            return Ok(());
        }
        if language == Language::Rust {
            let name = if ty.ty.name.starts_with('(') {
                ""
            } else {
                members::last_component(&ty.ty.name)
            };
            return self.rust_struct(name, value, ty, depth);
        }
        if depth >= self.limits.depth {
            self.folded(language);
            return Ok(());
        }
        let whole = self.whole(value)?;
        self.out.push('{');
        self.members(value, &whole, ty, depth, &|part| match part {
            Part::Member(member) => format!("{} = ", member.name),
            Part::Base(base) => format!("<{}> = ", ty.related(base.ty).name()),
            Part::Static(_) => String::new(),
        });
        self.out.push('}');
        Ok(())
    }

    /// How many elements there are, where that is the first thing to know or not all are shown.
    fn count(&mut self, len: u64, depth: usize) {
        if depth == 0 && len > 0 || len > self.limits.elements as u64 {
            let _ = write!(self.out, " ({len})");
        }
    }

    fn collection(
        &mut self,
        collection: &Collection,
        language: Language,
        depth: usize,
    ) -> Result<(), Error> {
        let shown = collection.len.min(self.limits.elements as u64);
        let (items, lost) = collection.items(self.target, 0..shown)?;
        let list = collection.kind == CollectionKind::List && language == Language::Rust;
        let (open, close) = if list { ('[', ']') } else { ('{', '}') };
        self.out.push(open);
        let mut written = 0;
        for item in items {
            if written > 0 {
                self.out.push_str(", ");
            }
            if self.full() {
                break;
            }
            written += 1;
            if let Some(key) = item.key {
                self.value_or_error(Ok(key), depth + 1);
                self.out.push_str(": ");
            }
            self.value_or_error(Ok(item.value), depth + 1);
        }
        if let Some(error) = lost {
            self.out.push_str(if written > 0 { ", " } else { "" });
            self.out.push_str(&bracketed(&error));
        } else if shown < collection.len {
            self.out.push_str(", ...");
        }
        self.out.push(close);
        self.count(collection.len, depth);
        Ok(())
    }

    /// Fields between the language's brackets.
    fn fields(&mut self, head: &str, fields: &[(String, Value)], language: Language, depth: usize) {
        self.out.push_str(head);
        if fields.is_empty() && !head.is_empty() {
            return;
        }
        let tuple = (0..)
            .zip(fields)
            .all(|(index, (name, _))| *name == index.to_string());
        let spaced = language == Language::Rust && !head.is_empty() && !tuple;
        let (open, close) = if tuple { ("(", ")") } else { ("{", "}") };
        self.out.push_str(if spaced { " {" } else { open });
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            if index >= self.limits.elements || self.full() {
                self.out.push_str("...");
                break;
            }
            match (tuple, language) {
                (true, _) => {}
                (false, Language::Rust) => self.out.push_str(&format!("{name}: ")),
                (false, _) => self.out.push_str(&format!("{name} = ")),
            }
            self.value_or_error(Ok(value.clone()), depth + 1);
        }
        self.out.push_str(close);
    }

    fn text(&mut self, at: LoadAddr, len: u64, unit: usize) -> Result<(), Error> {
        let bound = len.min((self.limits.string / unit * unit) as u64);
        let mut bytes = vec![0; bound as usize];
        if bound > 0 {
            self.target.memory().read(at, &mut bytes)?;
        }
        self.quoted(&bytes, unit, bound < len);
        Ok(())
    }

    fn rust_struct(
        &mut self,
        name: &str,
        value: &Value,
        ty: &Arc<DwarfTy>,
        depth: usize,
    ) -> Result<(), Error> {
        let Some(composite) = ty.composite() else {
            return Ok(());
        };
        self.out.push_str(name);
        if composite.members.is_empty() {
            return Ok(());
        }
        let tuple = members::is_tuple(composite);
        let whole = self.whole(value)?;
        if depth >= self.limits.depth {
            self.out.push_str(if tuple { "(…)" } else { " {…}" });
            return Ok(());
        }
        self.out.push_str(if tuple {
            "("
        } else if name.is_empty() {
            "{"
        } else {
            " {"
        });
        self.members(value, &whole, ty, depth, &|part| match part {
            Part::Member(member) if !tuple => format!("{}: ", members::shown_name(&member.name)),
            _ => String::new(),
        });
        self.out.push(if tuple { ')' } else { '}' });
        Ok(())
    }

    fn whole(&self, object: &Value) -> Result<Whole, Error> {
        let mut whole = Whole::read(self.target, object);
        match whole.error.take() {
            Some(error) => Err(error),
            None => Ok(whole),
        }
    }

    /// Bases and members with commas between them.
    fn members(
        &mut self,
        object: &Value,
        whole: &Whole,
        ty: &Arc<DwarfTy>,
        depth: usize,
        label: &dyn Fn(&Part<'_>) -> String,
    ) {
        let target = self.target;
        let mut written = 0;
        let outcome = members::parts(target, object, ty, &mut |object, ty, part| {
            let value = match &part {
                Part::Base(base) => members::base(target, object, ty, base),
                Part::Member(member) if member.artificial => return Ok(()),
                Part::Member(member) => members::member(target, object, ty, member),
                Part::Static(_) => return Ok(()),
            };
            written += 1;
            if written > self.limits.elements + 1 || self.full() && written > 1 {
                return Ok(());
            }
            if written > 1 {
                self.out.push_str(", ");
            }
            if written > self.limits.elements {
                self.out.push_str("...");
                return Ok(());
            }
            self.out.push_str(&label(&part));
            self.value_or_error(value.map(|value| whole.fill(value)), depth + 1);
            Ok(())
        });
        if let Err(error) = outcome {
            self.out.push_str(&bracketed(&error));
        }
    }
}

/// Where the function that begins at an address is declared.
fn function_at(target: &dyn Target, addr: LoadAddr) -> Option<dwarf::SourceLocation> {
    let (module, bias) = target.module_at(addr)?;
    let function = module.function_at(bias.file(addr))?;
    (function.entry == bias.file(addr)).then(|| function.declaration.clone())?
}

/// The function at an address and the bytes into it.
pub(super) fn symbol(target: &dyn Target, addr: LoadAddr) -> Option<(String, u64)> {
    let (module, bias) = target.module_at(addr)?;
    let file = bias.file(addr);
    let Symbol { name, addr, .. } = module.symbol_at(file)?;
    Some((dwarf::demangle(name).into_owned(), file - addr))
}
