//! Random types and functions of C and C++.

use super::{Function, Language, pick};
use crate::Compiler;
use fastrand::Rng;
use std::fmt::Write;

/// Types that are no classes, with a kind for their values.
const SCALARS: &[(&str, Kind)] = &[
    ("char", Kind::Integer),
    ("signed char", Kind::Integer),
    ("unsigned char", Kind::Integer),
    ("short", Kind::Integer),
    ("unsigned short", Kind::Integer),
    ("int", Kind::Integer),
    ("unsigned", Kind::Integer),
    ("long", Kind::Integer),
    ("unsigned long", Kind::Integer),
    ("long long", Kind::Integer),
    ("bool", Kind::Bool),
    ("float", Kind::Float),
    ("float", Kind::Float),
    ("double", Kind::Float),
    ("double", Kind::Float),
    ("enum kind", Kind::Enum),
    ("void *", Kind::Pointer),
    ("long double", Kind::Float),
    ("__int128", Kind::Wide),
    ("floats2", Kind::Vector(2)),
    ("ints4", Kind::Vector(4)),
    ("doubles2", Kind::Vector(2)),
    ("float _Complex", Kind::Complex),
    ("double _Complex", Kind::Complex),
];
/// Number of classes in a program.
const CLASSES: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Wide,
    Bool,
    Float,
    Enum,
    Pointer,
    Vector(usize),
    Complex,
}

#[derive(Clone, Copy)]
enum Type {
    Scalar(usize),
    Class(usize),
    /// C++: a class with a copy constructor and a destructor.
    Counted,
}

struct Member {
    name: String,
    ty: Type,
    count: Option<usize>,
    bits: Option<u32>,
    aligned: Option<u32>,
}

struct Class {
    keyword: &'static str,
    attributes: String,
    base: Option<usize>,
    members: Vec<Member>,
}

struct Writer<'a> {
    random: &'a mut Rng,
    language: Language,
    compiler: Compiler,
    classes: Vec<Class>,
}

const BEFORE: &str = "\
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
enum kind { first, second, third = 70000 };
typedef float floats2 __attribute__((vector_size(8)));
typedef int ints4 __attribute__((vector_size(16)));
typedef double doubles2 __attribute__((vector_size(16)));
unsigned long seen;
static int failed;
#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif
";

const COUNTED: &str = "\
struct Counted {
    long a; int b;
    Counted(long a, int b) : a(a), b(b) {}
    Counted(const Counted &from) : a(from.a), b(from.b) {}
    ~Counted() { a = -1; }
};
";

/// Returns the source of a program with so many functions.
pub(super) fn program(
    random: &mut Rng,
    count: usize,
    language: Language,
    compiler: Compiler,
) -> (String, Vec<Function>) {
    let mut writer = Writer {
        random,
        language,
        compiler,
        classes: Vec::new(),
    };
    let mut text = BEFORE.to_owned();
    if language == Language::Cpp {
        text += COUNTED;
    }
    for _ in 0..CLASSES {
        let class = writer.class();
        writer.define(&class, &mut text);
        writer.classes.push(class);
    }
    let (mut bodies, mut own) = (String::new(), String::new());
    let mut methods = String::new();
    let mut functions = Vec::new();
    for nth in 0..count {
        let function = writer.function(nth, &mut text, &mut methods, &mut bodies, &mut own);
        functions.push(function);
    }
    if language == Language::Cpp {
        let _ = write!(
            text,
            "struct Other {{ virtual ~Other() {{}} long other; }};\n\
             struct Host {{\n    virtual ~Host() {{}}\n    long own;\n{methods}}};\n\
             struct Both : Other, Host {{ }} both;\n"
        );
    }
    text += &bodies;
    let _ = write!(
        text,
        "KEPT void nothing(void) {{ __asm__ volatile(\"\"); }}\n\
         int main(void) {{\n{own}    nothing(); //@ stop\n    return failed;\n}}\n"
    );
    (text, functions)
}

impl Writer<'_> {
    fn chance(&mut self, of: u32) -> bool {
        self.random.u32(..of) == 0
    }

    fn scalar(&mut self) -> Type {
        loop {
            let index = self.random.usize(..SCALARS.len());
            if SCALARS[index].1 != Kind::Complex || self.language == Language::C {
                return Type::Scalar(index);
            }
        }
    }

    fn any(&mut self) -> Type {
        if self.classes.is_empty() || self.chance(3) {
            return self.scalar();
        }
        Type::Class(self.random.usize(..self.classes.len()))
    }

    fn class(&mut self) -> Class {
        let plus = self.language == Language::Cpp;
        let is_union = self.chance(8);
        let mut attributes = Vec::new();
        // Debug info shows that a class is packed only by members that are not aligned.
        let is_packed = !is_union && self.chance(10);
        if is_packed {
            attributes.push("packed");
        }
        if self.chance(10) {
            attributes.push(pick(self.random, &["aligned(16)", "aligned(32)"]));
        }
        let base = match plus && !is_union && !self.classes.is_empty() && self.chance(4) {
            true => Some(self.random.usize(..self.classes.len())),
            false => None,
        };
        let base = base.filter(|it| self.classes[*it].keyword == "struct");
        let least = usize::from(!plus || is_union);
        let count = match self.chance(12) {
            true => least,
            false => self.random.usize(1..=4),
        };
        // Often all members have one type.
        let same = self.chance(2).then(|| match self.chance(2) {
            true => Type::Scalar(11 + self.random.usize(..4)),
            false => self.scalar(),
        });
        let members = (0..count).map(|nth| {
            let ty = match same {
                Some(ty) => ty,
                None => match self.chance(4) {
                    true => self.any(),
                    false => self.scalar(),
                },
            };
            let mut bits = None;
            if let Type::Scalar(index) = ty
                && SCALARS[index].1 == Kind::Integer
                && self.chance(6)
            {
                bits = Some(self.random.u32(4..=7));
            }
            let is_array = bits.is_none() && self.chance(6);
            Member {
                name: format!("m{nth}"),
                ty,
                count: is_array.then(|| self.random.usize(1..=3)),
                bits,
                aligned: (bits.is_none() && self.chance(25)).then_some(16),
            }
        });
        let mut members: Vec<Member> = members.collect();
        if let Some(first) = members.first_mut().filter(|_| is_packed) {
            *first = Member {
                name: "m0".to_owned(),
                ty: Type::Scalar(0),
                count: None,
                bits: None,
                aligned: None,
            };
        }
        Class {
            keyword: if is_union { "union" } else { "struct" },
            attributes: attributes.join(", "),
            base,
            members,
        }
    }

    fn name(&self, ty: Type) -> String {
        match ty {
            Type::Scalar(index) => SCALARS[index].0.to_owned(),
            Type::Class(index) => format!("{} S{index}", self.classes[index].keyword),
            Type::Counted => "struct Counted".to_owned(),
        }
    }

    fn define(&self, class: &Class, text: &mut String) {
        let nth = self.classes.len();
        let base = class.base.map(|it| format!(" : S{it}")).unwrap_or_default();
        let attributes = match &*class.attributes {
            "" => String::new(),
            all => format!(" __attribute__(({all}))"),
        };
        let _ = write!(text, "{}{attributes} S{nth}{base} {{", class.keyword);
        for member in &class.members {
            let Member { name, ty, .. } = member;
            let _ = write!(text, " {} {name}", self.name(*ty));
            if let Some(count) = member.count {
                let _ = write!(text, "[{count}]");
            }
            if let Some(bits) = member.bits {
                let _ = write!(text, " : {bits}");
            }
            if let Some(aligned) = member.aligned {
                let _ = write!(text, " __attribute__((aligned({aligned})))");
            }
            text.push(';');
        }
        text.push_str(" };\n");
    }

    /// Returns an initializer with random values.
    fn value(&mut self, ty: Type) -> String {
        let small = |random: &mut Rng| random.u32(1..8);
        match ty {
            Type::Counted => format!("{{ {}, {} }}", self.random.u32(..), small(self.random)),
            Type::Scalar(index) => match SCALARS[index].1 {
                Kind::Integer => small(self.random).to_string(),
                Kind::Wide => format!("(__int128){} << 60 | 5", self.random.u32(1..)),
                Kind::Bool => "true".to_owned(),
                Kind::Float => format!("{}.5", self.random.u32(1..100)),
                Kind::Enum => "third".to_owned(),
                Kind::Pointer => format!("(void *){}", self.random.u32(1..)),
                Kind::Vector(len) => {
                    let all: Vec<_> = (0..len).map(|_| small(self.random).to_string()).collect();
                    format!("{{ {} }}", all.join(", "))
                }
                Kind::Complex => format!("__builtin_complex({0}, {0})", {
                    let value = self.random.u32(1..100);
                    match SCALARS[index].0.starts_with('f') {
                        true => format!("{value}.5f"),
                        false => format!("{value}.5"),
                    }
                }),
            },
            Type::Class(index) => {
                let mut parts = Vec::new();
                if let Some(base) = self.classes[index].base {
                    parts.push(self.value(Type::Class(base)));
                }
                let is_union = self.classes[index].keyword == "union";
                let own = self.classes[index].members.iter();
                let own: Vec<_> = own.map(|it| (it.ty, it.count)).collect();
                for (ty, count) in own.into_iter().take(if is_union { 1 } else { 9 }) {
                    let all: Vec<_> = (0..count.unwrap_or(1)).map(|_| self.value(ty)).collect();
                    parts.push(match count {
                        Some(_) => format!("{{ {} }}", all.join(", ")),
                        None => all.join(""),
                    });
                }
                format!("{{ {} }}", parts.join(", "))
            }
        }
    }

    /// Adds the comparisons of two values' parts.
    fn compare(&self, ty: Type, a: &str, b: &str, all: &mut Vec<String>) {
        match ty {
            Type::Counted => all.push(format!("{a}.a == {b}.a && {a}.b == {b}.b")),
            Type::Scalar(index) => match SCALARS[index].1 {
                Kind::Vector(len) => {
                    all.extend((0..len).map(|nth| format!("{a}[{nth}] == {b}[{nth}]")));
                }
                _ => all.push(format!("{a} == {b}")),
            },
            Type::Class(index) => {
                let class = &self.classes[index];
                if let Some(base) = class.base {
                    // Members of a derived class may hide those of the base.
                    let of = |it: &str| format!("((const S{base} &){it})");
                    self.compare(Type::Class(base), &of(a), &of(b), all);
                }
                let most = if class.keyword == "union" { 1 } else { 9 };
                for member in class.members.iter().take(most) {
                    let (a, b) = (
                        format!("{a}.{}", member.name),
                        format!("{b}.{}", member.name),
                    );
                    match member.count {
                        None => self.compare(member.ty, &a, &b, all),
                        Some(count) => {
                            for nth in 0..count {
                                let (a, b) = (format!("{a}[{nth}]"), format!("{b}[{nth}]"));
                                self.compare(member.ty, &a, &b, all);
                            }
                        }
                    }
                }
            }
        }
    }

    fn is_same(&self, ty: Type, a: &str, b: &str) -> String {
        let mut all = Vec::new();
        self.compare(ty, a, b, &mut all);
        match all.is_empty() {
            true => "1".to_owned(),
            false => all.join(" && "),
        }
    }

    /// Returns whether a compiler passes a type as its psABI says.
    fn is_sound(&self, ty: Type) -> bool {
        match ty {
            // clang splits these between a register and the stack.
            Type::Scalar(index) if SCALARS[index].1 == Kind::Wide => {
                self.compiler != Compiler::Clang || cfg!(not(target_arch = "x86_64"))
            }
            _ => true,
        }
    }

    fn parameter(&mut self, is_variadic: bool) -> Type {
        // C++ passes only simple classes so.
        let plus = self.language == Language::Cpp;
        loop {
            let ty = match plus && !is_variadic && self.chance(12) {
                true => Type::Counted,
                false => self.any(),
            };
            let is_promoted = match ty {
                Type::Scalar(index) => matches!(
                    SCALARS[index].0,
                    "int"
                        | "unsigned"
                        | "long"
                        | "unsigned long"
                        | "double"
                        | "void *"
                        | "__int128"
                ),
                Type::Class(index) => {
                    let class = &self.classes[index];
                    let is_scalar = |it: &Member| matches!(it.ty, Type::Scalar(_));
                    !class.members.is_empty()
                        && (!plus || class.base.is_none() && class.members.iter().all(is_scalar))
                }
                Type::Counted => false,
            };
            if self.is_sound(ty) && (is_promoted || !is_variadic) {
                return ty;
            }
        }
    }

    fn function(
        &mut self,
        nth: usize,
        text: &mut String,
        methods: &mut String,
        bodies: &mut String,
        own: &mut String,
    ) -> Function {
        let plus = self.language == Language::Cpp;
        let is_variadic = self.chance(8);
        let is_method = plus && !is_variadic && self.chance(4);
        let is_virtual = is_method && self.chance(2);
        let result = match self.chance(8) {
            true => None,
            false => Some(self.parameter(false)),
        };
        let count = match self.chance(3) {
            true => self.random.usize(4..=10),
            false => self.random.usize(..=4),
        };
        let parameters: Vec<Type> = (0..count).map(|_| self.parameter(is_variadic)).collect();
        let returns = result.map_or("void".to_owned(), |ty| self.name(ty));
        let mut body = String::new();
        let (mut declared, mut passed) = (Vec::new(), Vec::new());
        for (index, ty) in parameters.iter().enumerate() {
            let (name, value) = (self.name(*ty), self.value(*ty));
            let global = format!("v{nth}_{index}");
            let _ = writeln!(text, "{name} {global} = {value};");
            declared.push(format!("{name} a{index}"));
            if is_variadic {
                let _ = writeln!(body, "    {name} a{index} = va_arg(all, {name});");
            }
            let same = self.is_same(*ty, &format!("a{index}"), &global);
            let _ = writeln!(body, "    if ({same}) seen |= 1ul << {index};");
            passed.push(global);
        }
        if let Some(ty) = result {
            let value = self.value(ty);
            let _ = writeln!(text, "{returns} r{nth} = {value};");
        }
        let give = if result.is_some() {
            format!("    return r{nth};\n")
        } else {
            String::new()
        };
        let types = match (is_variadic, declared.is_empty()) {
            (true, _) => "int n, ...".to_owned(),
            (false, true) => "void".to_owned(),
            (false, false) => declared.join(", "),
        };
        if is_variadic {
            body = format!("    va_list all;\n    va_start(all, n);\n{body}    va_end(all);\n");
            passed.insert(0, count.to_string());
        }
        let prototype = format!("{returns} f{nth}({types})");
        let passed = passed.join(", ");
        let mut call = format!("f{nth}({passed})");
        match is_method {
            false => {
                let _ = writeln!(bodies, "KEPT {prototype} {{\n{body}{give}}}");
            }
            true => {
                let (kept, is_virtual) = ("KEPT", if is_virtual { "virtual " } else { "" });
                let _ = writeln!(methods, "    {kept} {is_virtual}{prototype};");
                let _ = writeln!(
                    bodies,
                    "{returns} Host::f{nth}({types}) {{\n    if (own != 42) return{};\n{body}{give}}}",
                    if result.is_some() {
                        format!(" r{nth}")
                    } else {
                        String::new()
                    },
                );
                let _ = writeln!(
                    bodies,
                    "{returns} (Host::*p{nth})({types}) = &Host::f{nth};"
                );
                let _ = writeln!(
                    bodies,
                    "{returns} (Both::*q{nth})({types}) = &Host::f{nth};"
                );
                call = match self.random.u32(..3) {
                    0 => format!("both.f{nth}({passed})"),
                    1 => format!("(both.*q{nth})({passed})"),
                    _ => format!("(static_cast<Host &>(both).*p{nth})({passed})"),
                };
            }
        }
        let seen = (1u64 << count) - 1;
        let checked = match result {
            None => format!("{call}; if (seen != {seen}) "),
            Some(ty) => {
                let same = self.is_same(ty, "x", &format!("r{nth}"));
                format!("{returns} x = {call}; if (seen != {seen} || !({same})) ")
            }
        };
        let host = if is_method { "both.own = 42; " } else { "" };
        let _ = writeln!(
            own,
            "    {{ seen = 0; {host}{checked}{{ failed = 1; printf(\"f{nth}\\n\"); }} }}"
        );
        let prototype = match is_method {
            true => format!("{returns} Host::f{nth}({types})"),
            false => prototype,
        };
        Function {
            call,
            result: result.map(|_| format!("r{nth}")),
            seen,
            name: if is_method {
                format!("Host::f{nth}")
            } else {
                format!("f{nth}")
            },
            prototype,
        }
    }
}
