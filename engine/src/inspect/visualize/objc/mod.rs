//! Objects of Objective-C, shown as what their own class makes them: strings, numbers, arrays and
//! dictionaries of Foundation whose layout the compiler, CoreFoundation's source or the runtime's
//! headers define. Of other objects the class is shown, and what the debug info has of it.

pub mod class;
mod containers;
mod strings;

use super::View;
use crate::inspect::value::synthetic::Synthetic;
use crate::inspect::value::{PointerKind, Shape, Target, Ty, Value, ValueLocation};
use class::{Class, word};
use dwarf::LoadAddr;

/// An object, by its pointer.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its class.
    pub class: Class,
    contents: Contents,
}

#[derive(Clone, Copy, Debug)]
enum Contents {
    At(LoadAddr),
    /// The pointer itself holds them.
    InPointer(u64),
}

/// Returns the value of a variable of the runtime that describes it to debuggers (objc-gdb.h).
fn runtime(target: &dyn Target, name: &str) -> Option<u64> {
    word(target, runtime_variable(target, name)?, 0)
}

fn runtime_variable(target: &dyn Target, name: &str) -> Option<LoadAddr> {
    let images = target.images();
    let is_runtime = |path: &std::path::Path| {
        let file = path.file_name().map(|it| it.to_string_lossy());
        file.is_some_and(|it| it.starts_with("libobjc"))
    };
    let own = images.iter().find(|(module, _)| is_runtime(module.path()));
    let (module, bias) = own.or_else(|| images.first())?;
    module.exported(name).map(|addr| bias.load(addr))
}

/// Returns what a pointer to objects points to; `None` for other values.
fn target_of(value: &Value) -> Option<Ty> {
    if let Ty::Synthetic(synthetic) = &value.ty
        && matches!(&**synthetic, Synthetic::ObjcId)
    {
        return Some(Ty::Void);
    }
    let Shape::Pointer(of, PointerKind::Raw) = value.ty.shape() else {
        return None;
    };
    is_object(&of).then_some(of)
}

/// Returns whether a pointer of a type to another may have a view or a remark. Most have none: this is
/// cheaper than to ask for them.
pub fn concerns(pointer: &Ty, of: &Ty) -> bool {
    match of.strip() {
        Ty::Void => matches!(pointer, Ty::Synthetic(_)),
        Ty::Dwarf(ty) => ty.composite().is_some_and(|it| {
            let name = &*ty.ty.name;
            it.is_objc_class || name.starts_with("objc_") || name.starts_with("__CF")
        }),
        _ => false,
    }
}

/// Returns whether values of a type are objects: a class of Objective-C, what `id` points to, or a type of
/// CoreFoundation.
fn is_object(of: &Ty) -> bool {
    let Ty::Dwarf(ty) = of.strip() else {
        return false;
    };
    ty.composite().is_some_and(|it| {
        it.is_objc_class || &*ty.ty.name == "objc_object" || ty.ty.name.starts_with("__CF")
    })
}

impl Object {
    /// Returns the object that a value points to; `None` for other values, `nil` and garbage.
    pub fn of(target: &dyn Target, value: &Value) -> Option<Object> {
        target_of(value)?;
        Object::at(target, value.raw(target).ok()? as u64)
    }

    fn at(target: &dyn Target, pointer: u64) -> Option<Object> {
        if let Some(tagged) = Tagged::of(target, pointer) {
            let class = Class::at(target, tagged.class)?;
            let contents = Contents::InPointer(tagged.payload);
            return Some(Object { class, contents });
        }
        let at = LoadAddr(pointer);
        let class = Class::of_object(target, at)?;
        let contents = Contents::At(at);
        Some(Object { class, contents })
    }

    /// Returns whether the pointer is no address.
    pub fn is_in_pointer(&self) -> bool {
        matches!(self.contents, Contents::InPointer(_))
    }

    /// Returns the value of its own class, if the debug info has that.
    pub fn described(&self, target: &dyn Target) -> Option<Value> {
        let Contents::At(at) = self.contents else {
            return None;
        };
        let ty = self.class.described(target)?;
        Some(Value::new(ty, ValueLocation::Memory(at, None)))
    }

    fn view(&self, target: &dyn Target) -> Option<View> {
        let name = self.class.name.as_str();
        let at = match self.contents {
            Contents::At(at) => at,
            Contents::InPointer(payload) => {
                let text = match name {
                    "NSTaggedPointerString" => strings::in_pointer(payload)?,
                    "__NSCFNumber" => number_in_pointer(payload)?,
                    _ => return None,
                };
                return Some(View::Plain(text));
            }
        };
        let bits = |offset, bytes| {
            let at = LoadAddr(at.0.checked_add(offset)?);
            target.memory().read_uint(at, bytes).ok()
        };
        let text = match name {
            "__NSCFConstantString" | "__NSCFString" => strings::core_foundation(target, at)?,
            "NSConstantIntegerNumber" => integer(target, at)?,
            "NSConstantFloatNumber" => format!("@{:?}", f32::from_bits(bits(8, 4)? as u32)),
            "NSConstantDoubleNumber" => format!("@{:?}", f64::from_bits(bits(8, 8)?)),
            _ => return containers::view(target, name, at),
        };
        Some(View::Plain(text))
    }
}

/// A pointer that holds the object.
struct Tagged {
    class: LoadAddr,
    payload: u64,
}

impl Tagged {
    /// Takes a pointer apart by what the runtime tells debuggers about such pointers.
    fn of(target: &dyn Target, pointer: u64) -> Option<Tagged> {
        let variable = |what: &str| runtime(target, &format!("objc_debug_taggedpointer_{what}"));
        // These are of 32 bits.
        let shift = |what: &str| variable(what).map(|it| (it & 63) as u32);
        let is_marked = |mask: u64| mask != 0 && pointer & mask == mask;
        // All such marks are outside addresses, or make them odd.
        if pointer & 1 == 0 && pointer >> 60 == 0 || !is_marked(variable("mask")?) {
            return None;
        }
        let kind = match variable("ext_mask") {
            Some(mask) if is_marked(mask) => "ext_",
            _ => "",
        };
        let slot_mask = variable(&format!("{kind}slot_mask"))? & 0xffff;
        let slot = pointer >> shift(&format!("{kind}slot_shift"))? & slot_mask;
        let table = format!("objc_debug_taggedpointer_{kind}classes");
        let class = word(target, runtime_variable(target, &table)?, slot * 8)?;
        let plain = pointer ^ variable("obfuscator").unwrap_or(0);
        let payload = plain << shift(&format!("{kind}payload_lshift"))?;
        Some(Tagged {
            class: LoadAddr(class),
            payload: payload >> shift(&format!("{kind}payload_rshift"))?,
        })
    }
}

/// Returns a number that the pointer holds, if it is an integer.
fn number_in_pointer(payload: u64) -> Option<String> {
    /// Bits of the payload.
    const BITS: u32 = 60;
    // The kinds: integers of 1, 2, 4 and 8 bytes.
    if payload & 15 > 3 {
        return None;
    }
    let signed = (payload << (64 - BITS)) as i64 >> (64 - BITS);
    Some(format!("@{}", signed >> 4))
}

/// Returns the constant of an integer: its type as text, and eight bytes.
fn integer(target: &dyn Target, at: LoadAddr) -> Option<String> {
    let encoding = LoadAddr(word(target, at, 8)?);
    let kind = target.memory().read_uint(encoding, 1).ok()? as u8;
    let bits = word(target, at, 16)?;
    Some(match kind {
        b'Q' | b'L' | b'I' | b'S' | b'C' => format!("@{bits}"),
        b'B' if bits <= 1 => if bits == 1 { "@YES" } else { "@NO" }.to_owned(),
        _ => format!("@{}", bits as i64),
    })
}

/// Returns the contents of the object that a value points to; `None` for other values, and for objects
/// without a view.
pub fn view(target: &dyn Target, value: &Value) -> Option<View> {
    if value.raw {
        return None;
    }
    Object::of(target, value)?.view(target)
}

/// Returns a remark on the object that a pointer points to: its class, unless the type says it.
pub fn remark(target: &dyn Target, value: &Value) -> Option<String> {
    if let Shape::Pointer(of, _) = value.ty.shape()
        && let Ty::Dwarf(of) = of.strip()
    {
        let at = LoadAddr(value.raw(target).ok()? as u64);
        match &*of.ty.name {
            "objc_class" => {
                let class = Class::at(target, at)?;
                return Some(format!("[{} class]", class.readable()));
            }
            "objc_selector" => return class::selector(target, at).map(|it| format!("\"{it}\"")),
            _ => {}
        }
    }
    let of = target_of(value)?;
    let class = Object::of(target, value)?.class;
    if class.is_meta {
        let class = Class::at(target, LoadAddr(value.raw(target).ok()? as u64))?;
        return Some(format!("[{} class]", class.readable()));
    }
    let is_known = matches!(of.strip(), Ty::Dwarf(of) if of.ty.name == class.name);
    (!is_known).then(|| format!("({})", class.readable()))
}

/// Returns an object with the type of its own class; `None` if the value has it, or the debug info does
/// not.
pub fn whole_object(target: &dyn Target, value: &Value) -> Option<Value> {
    if !is_object(&value.ty) {
        return None;
    }
    let object = Object::at(target, value.address()?.0)?;
    if matches!(value.ty.strip(), Ty::Dwarf(own) if own.ty.name == object.class.name) {
        return None;
    }
    object.described(target)
}
