//! The class of the object that a value of C++ is a part of: what a pointer or reference to a base
//! points to. The virtual table shows it (Itanium C++ ABI §2.5.2).

use super::language::template::readable;
use super::value::types::DwarfTy;
use super::value::{Shape, Target, Ty, Value, ValueLocation, subobjects};
use dwarf::{Composite, LoadAddr, LoadBias, Module};
use std::sync::Arc;

/// Maximum number of entries of a virtual table to examine.
const ENTRIES: u64 = 256;
/// The same for a table whose end is unknown.
const ENTRIES_WITHOUT_END: u64 = 32;
/// Maximum length in bytes of a mangled name.
const MAX_NAME_BYTES: usize = 4096;

/// The object that a value is a part of, as far as it is known.
#[derive(Clone, Debug)]
pub enum Whole {
    /// The object, with its own class; the value itself if it is no part of another object.
    Object(Value),
    /// It is not known: the reason.
    Unknown(String),
    /// Objects of the value's class do not show it: they have no virtual table.
    Hidden,
}

/// The lookup by name of a class that has no function of its own in its virtual table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Names {
    /// By an index of names that is ready, or in debug info that is read in milliseconds. Otherwise the
    /// index is requested.
    Ready,
    /// By a search of the debug info, which may take seconds.
    Searched,
}

/// Returns the object that a value is a part of. Reads three words and two tables of symbols; the
/// debug info of the functions in the virtual table, once.
pub fn whole(target: &dyn Target, part: &Value, names: Names) -> Whole {
    let Some((own, at)) = dynamic_part(part) else {
        return Whole::Hidden;
    };
    let Some(table) = Table::of(target, at) else {
        // A class that is only declared need not have one.
        return match own.composite().is_some_and(|it| it.polymorphic) {
            true => Whole::Unknown("it has no virtual table".to_owned()),
            false => Whole::Hidden,
        };
    };
    if table.to_top == 0 && table.class == own.ty.name {
        return Whole::Object(part.clone());
    }
    let start = table.start_of_object(at);
    let Some(class) = class_of(target, &table, start, names) else {
        let name = readable(&table.class);
        return Whole::Unknown(format!("its class `{name}` is not in the debug info"));
    };
    let object = Value::new(class, ValueLocation::Memory(start, None));
    if start == at && object.ty.same_as(&part.ty) {
        return Whole::Object(part.clone());
    }
    match is_part(target, &object, part) {
        true => Whole::Object(object),
        false => {
            let (class, part) = (object.ty.name(), part.ty.name());
            Whole::Unknown(format!("its class `{class}` has no base `{part}` there"))
        }
    }
}

/// Returns the object of another class that a value is a part of; `None`: there is none, or it is
/// unknown.
pub fn other(target: &dyn Target, part: &Value) -> Option<Value> {
    match whole(target, part, Names::Ready) {
        Whole::Object(object) if !object.ty.same_as(&part.ty) => Some(object),
        _ => None,
    }
}

/// Returns the address of the object that a value is a part of, which needs no debug info of its
/// class; `None`: it has no virtual table.
pub fn start(target: &dyn Target, part: &Value) -> Option<LoadAddr> {
    let (_, at) = dynamic_part(part)?;
    Some(Table::of(target, at)?.start_of_object(at))
}

/// Returns the name of the class whose virtual table an object has, as a demangler spells it.
pub fn name(target: &dyn Target, object: &Value) -> Option<String> {
    let at = object.address().filter(|addr| addr.0 != 0)?;
    Table::of(target, at).map(|it| it.class)
}

/// Returns the class and the address of a value in memory whose objects may have a virtual table.
fn dynamic_part(part: &Value) -> Option<(Arc<DwarfTy>, LoadAddr)> {
    let Shape::Composite(class) = part.ty.shape() else {
        return None;
    };
    let may_have = |it: &Composite| it.polymorphic || it.declaration;
    let at = part.address().filter(|addr| addr.0 != 0)?;
    class
        .composite()
        .is_some_and(may_have)
        .then_some((class, at))
}

/// A virtual table, by the address in an object's pointer to it.
struct Table {
    /// The address in the object's pointer.
    at: LoadAddr,
    /// The class that has it, as a demangler spells it.
    class: String,
    /// The distance from the part with the pointer to the object's start: 0 or negative.
    to_top: i64,
    /// The number of entries that may be functions.
    entries: u64,
    module: Arc<Module>,
    bias: LoadBias,
}

impl Table {
    /// Reads the head of the table that a part of an object points to.
    fn of(target: &dyn Target, part: LoadAddr) -> Option<Table> {
        let at = LoadAddr(word_at(target, part)?);
        // The offset to the top and the type precede the address. It may be the end of a table
        // without functions, so the type is looked up.
        let head = LoadAddr(at.0.checked_sub(16)?);
        let to_top = word_at(target, head)? as i64;
        let type_at = head + 8;
        let (module, bias) = target.module_at(type_at)?;
        let symbol = module.symbol_at(bias.file(type_at));
        let name = symbol.map(|it| dwarf::demangle(it.name));
        let by_symbol = name.and_then(|name| described(&name, "vtable").map(str::to_owned));
        let entries = match symbol.filter(|it| by_symbol.is_some() && it.size > 0) {
            Some(symbol) => {
                let end = bias.load(symbol.addr).0.saturating_add(symbol.size);
                (end.saturating_sub(at.0) / 8).min(ENTRIES)
            }
            None => ENTRIES_WITHOUT_END,
        };
        // A table that objects have while a base is constructed has the type of that base.
        let class = by_symbol.or_else(|| class_of_type_info(target, word_at(target, type_at)?))?;
        (to_top <= 0).then_some(Table {
            at,
            class,
            to_top,
            entries,
            module,
            bias,
        })
    }

    fn start_of_object(&self, part: LoadAddr) -> LoadAddr {
        LoadAddr(part.0.wrapping_add_signed(self.to_top))
    }

    /// Returns the class, by a function of the table that is a member of it: the entries of the table
    /// at the object's start are all functions that the class declares, without adjustments.
    fn class_by_functions(&self, target: &dyn Target) -> Option<Ty> {
        (0..self.entries).find_map(|entry| {
            let code = LoadAddr(word_at(target, self.at + entry * 8)?);
            let (module, bias) = target.module_at(code)?;
            let class = module.class_of_function(bias.file(code))?;
            let Ty::Dwarf(class) = Ty::dwarf(&module, bias, class).strip() else {
                return None;
            };
            let is_it =
                is_spelled(&class.ty.name, &self.class) || self.is_member(&module, bias, code);
            (class.ty.size.is_some() && is_it).then_some(Ty::Dwarf(class))
        })
    }

    /// Returns whether the function at an address is a member of the class, by the symbol: debug info
    /// spells template arguments otherwise, and leaves out the parameters of a function around it.
    fn is_member(&self, module: &Module, bias: LoadBias, code: LoadAddr) -> bool {
        let file = bias.file(code);
        let function = module.function_at(file);
        let own = function.and_then(|it| it.linkage_name.clone());
        let symbol = module.symbol_at(file).filter(|it| it.addr == file);
        let symbols = own.into_iter().chain(symbol.map(|it| it.name.to_owned()));
        symbols
            .into_iter()
            .any(|symbol| is_member_name(&dwarf::demangle(&symbol), &self.class))
    }

    /// Returns the class by its name, in the image of the table.
    fn class_by_name(&self, names: Names) -> Option<Ty> {
        if names == Names::Ready && !self.module.has_names_soon() {
            return None;
        }
        let wanted = without_parameters(&self.class);
        let ids = self.module.types_named(&wanted, None).into_iter();
        let types = ids.map(|id| Ty::dwarf(&self.module, self.bias, id));
        let mut types = types.filter(|ty| match ty {
            Ty::Dwarf(class) => class.ty.size.is_some() && is_spelled(&class.ty.name, &wanted),
            _ => false,
        });
        let found = types.next()?;
        // A class that other files, or functions of the same name, may have as well.
        let is_internal = wanted != self.class || self.class.contains("(anonymous");
        (!is_internal || types.next().is_none()).then_some(found)
    }
}

/// Returns the class of an object that begins at `start`, of which one part has this table.
fn class_of(target: &dyn Target, table: &Table, start: LoadAddr, names: Names) -> Option<Ty> {
    // The tables of other parts have thunks instead of the functions.
    let first = Table::of(target, start);
    let first = first.filter(|it| it.class == table.class && it.to_top == 0);
    let first = first.as_ref().unwrap_or(table);
    let (module, place) = (&first.module, first.bias.file(first.at));
    if let Some(known) = module.class_of_table(place) {
        return Some(Ty::dwarf(module, first.bias, known));
    }
    let found = first.class_by_functions(target);
    let found = found.or_else(|| first.class_by_name(names))?;
    if let Ty::Dwarf(class) = &found
        && Arc::ptr_eq(class.module(), module)
    {
        module.keep_class_of_table(place, class.ty.id);
    }
    Some(found)
}

/// Returns whether a base of an object is this part.
fn is_part(target: &dyn Target, object: &Value, part: &Value) -> bool {
    let is_declared = |value: &Value| match value.ty.shape() {
        Shape::Composite(ty) => ty.composite().is_some_and(|it| it.declaration),
        _ => false,
    };
    // A class that is only declared has no size and no bases.
    let is_meant = |it: &Value| {
        it.address() == part.address()
            && (it.ty.same_as(&part.ty)
                || is_declared(it)
                || is_declared(part) && it.ty.name() == part.ty.name())
    };
    subobjects::parts(target, object, &is_meant).is_ok_and(|it| !it.is_empty())
}

/// Returns the class that type information describes, by the mangled name in it.
fn class_of_type_info(target: &dyn Target, info: u64) -> Option<String> {
    let name = word_at(target, LoadAddr(info.checked_add(8)?)).filter(|_| info != 0)?;
    let mut mangled = String::from("_ZTI");
    let mut at = LoadAddr(name);
    while mangled.len() < MAX_NAME_BYTES {
        let byte = target.memory().read_uint(at, 1).ok()? as u8;
        match byte {
            0 => return described(&dwarf::demangle(&mangled), "typeinfo").map(str::to_owned),
            // gcc marks names that are compared by address.
            b'*' if mangled.len() == 4 => {}
            b'!'..=b'~' => mangled.push(char::from(byte)),
            _ => return None,
        }
        at = at + 1;
    }
    None
}

/// Returns `ns::A` for `vtable for ns::A`, where `what` is `vtable`.
pub fn described<'a>(symbol: &'a str, what: &str) -> Option<&'a str> {
    let in_braces = |symbol: &'a str| {
        let rest = symbol.strip_prefix('{')?.strip_prefix(what)?;
        rest.strip_prefix('(')?.strip_suffix(")}")
    };
    let in_words = |symbol: &'a str| symbol.strip_prefix(what)?.strip_prefix(" for ");
    in_words(symbol).or_else(|| in_braces(symbol))
}

/// Returns whether a demangled name is that of a member function of a class.
fn is_member_name(function: &str, class: &str) -> bool {
    let rest = function.strip_prefix(class);
    rest.and_then(|rest| rest.strip_prefix("::"))
        .is_some_and(|name| {
            let before_parameters = name.split('(').next().unwrap_or(name);
            name.starts_with("operator") || !before_parameters.contains("::")
        })
}

/// Returns whether two spellings are of one class: spaces and suffixes of numbers (`3ul`) differ.
fn is_spelled(a: &str, b: &str) -> bool {
    a == b || plain(a) == plain(b)
}

fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut is_number = false;
    for char in name.chars() {
        let is_part = char.is_ascii_alphanumeric() || char == '_';
        let is_suffix = is_number && matches!(char, 'u' | 'U' | 'l' | 'L');
        let begins = !plain.ends_with(|it: char| it.is_alphanumeric() || it == '_');
        is_number = is_part && (is_number || begins && char.is_ascii_digit());
        if char != ' ' && !is_suffix {
            plain.push(char);
        }
    }
    plain
}

/// Returns the name of a class in a function as debug info has it: `f::Local` for `f(int)::Local`.
fn without_parameters(class: &str) -> String {
    let mut name = String::with_capacity(class.len());
    let mut rest = class;
    while let Some(start) = rest.find('(') {
        let (before, behind) = rest.split_at(start);
        let inner = behind.starts_with("(anonymous") || before.contains('<');
        let Some(end) = closing(behind).filter(|_| !inner) else {
            break;
        };
        name.push_str(before);
        rest = behind.get(end..).unwrap_or_default();
        rest = rest.strip_prefix(" const").unwrap_or(rest);
    }
    name.push_str(rest);
    name
}

/// Returns the end of the parentheses that a text begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, char) in text.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

fn word_at(target: &dyn Target, addr: LoadAddr) -> Option<u64> {
    let mut bytes = [0; 8];
    target.memory().read(addr, &mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_members() {
        for (function, class) in [
            ("Circle::area() const", "Circle"),
            ("app::Box<int>::get()", "app::Box<int>"),
            ("f(int)::Local::~Local()", "f(int)::Local"),
            ("A::operator B::C()", "A"),
            ("A::f(B::C)", "A"),
        ] {
            assert!(is_member_name(function, class), "{function}");
        }
        for (function, class) in [
            ("A::B::f()", "A"),
            ("AB::f()", "A"),
            ("A", "A"),
            ("f(int)::Local::area()", "f(long)::Local"),
        ] {
            assert!(!is_member_name(function, class), "{function}");
        }
    }

    #[test]
    fn spellings_of_classes() {
        assert!(is_spelled("Row<int, 3ul>", "Row<int,3>"));
        assert!(is_spelled("Map<K, std::less<K> >", "Map<K, std::less<K>>"));
        assert!(is_spelled("Row<3u>", "Row<3U>"));
        assert!(!is_spelled("a1u", "a1"));
        assert!(!is_spelled("Row<31>", "Row<3l>"));
        for (class, name) in [
            ("main::Local", "main::Local"),
            ("f(int)::Local", "f::Local"),
            ("A::f(void (*)(int)) const::Local", "A::f::Local"),
            ("(anonymous namespace)::A", "(anonymous namespace)::A"),
            ("A<(E)1>", "A<(E)1>"),
            ("f(", "f("),
        ] {
            assert_eq!(without_parameters(class), name);
        }
    }
}
