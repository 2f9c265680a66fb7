//! Functions of the C library that expressions may call though no debug info declares them: their prototypes
//! (ISO C §7, POSIX), in [`PROTOTYPES`]. The table has only functions that compute or read. A call restores
//! `errno`.

use crate::inspect::language::c;
use crate::inspect::value::scalar::{Float, ScalarKind};
use crate::inspect::value::{Shape, Ty};
use dwarf::{CTypes, Language};

/// One prototype a line. The types of each `double` function also make the one for `float` (`sqrtf`).
const PROTOTYPES: &str = "
size_t strlen(const char *)
size_t strnlen(const char *, size_t)
int strcmp(const char *, const char *)
int strncmp(const char *, const char *, size_t)
int strcasecmp(const char *, const char *)
int strncasecmp(const char *, const char *, size_t)
int strcoll(const char *, const char *)
size_t strspn(const char *, const char *)
size_t strcspn(const char *, const char *)
char *strchr(const char *, int)
char *strrchr(const char *, int)
char *strstr(const char *, const char *)
char *strpbrk(const char *, const char *)
void *memchr(const void *, int, size_t)
int memcmp(const void *, const void *, size_t)
char *getenv(const char *)
int isalnum(int)
int isalpha(int)
int isblank(int)
int iscntrl(int)
int isdigit(int)
int isgraph(int)
int islower(int)
int isprint(int)
int ispunct(int)
int isspace(int)
int isupper(int)
int isxdigit(int)
int tolower(int)
int toupper(int)
const unsigned short **__ctype_b_loc(void)
const int **__ctype_tolower_loc(void)
const int **__ctype_toupper_loc(void)
int abs(int)
long labs(long)
long long llabs(long long)
int atoi(const char *)
long atol(const char *)
long long atoll(const char *)
double atof(const char *)
long strtol(const char *, char **, int)
long long strtoll(const char *, char **, int)
unsigned long strtoul(const char *, char **, int)
unsigned long long strtoull(const char *, char **, int)
double strtod(const char *, char **)
double fabs(double)
double sqrt(double)
double cbrt(double)
double hypot(double, double)
double pow(double, double)
double exp(double)
double exp2(double)
double log(double)
double log2(double)
double log10(double)
double sin(double)
double cos(double)
double tan(double)
double asin(double)
double acos(double)
double atan(double)
double atan2(double, double)
double sinh(double)
double cosh(double)
double tanh(double)
double floor(double)
double ceil(double)
double trunc(double)
double round(double)
double fmod(double, double)
double fmin(double, double)
double fmax(double, double)
double copysign(double, double)
long lround(double)
long long llround(double)
";

/// Returns whether the table has a function of that name.
pub(super) fn has(name: &str) -> bool {
    line_of(name).is_some()
}

/// Returns the line of the function of a name, and whether it is the one for `float` of that line.
fn line_of(name: &str) -> Option<(&'static str, bool)> {
    let find = |name: &str| PROTOTYPES.lines().find(|line| name_in(line) == Some(name));
    find(name).map(|line| (line, false)).or_else(|| {
        let line = find(name.strip_suffix('f')?)?;
        line.contains("(double").then_some((line, true))
    })
}

/// Returns the bits of what a function of one number returns, whose result ISO C and IEEE 754 fix to the last
/// bit; `None` for others.
pub(super) fn computed(name: &str, of: u128) -> Option<u128> {
    let double = |function: fn(f64) -> f64| function(f64::from_bits(of as u64)).to_bits().into();
    let single = |function: fn(f32) -> f32| function(f32::from_bits(of as u32)).to_bits().into();
    Some(match name {
        "abs" => (of as i32).unsigned_abs().into(),
        "labs" | "llabs" => (of as i64).unsigned_abs().into(),
        "fabs" => double(f64::abs),
        "sqrt" => double(f64::sqrt),
        "floor" => double(f64::floor),
        "ceil" => double(f64::ceil),
        "trunc" => double(f64::trunc),
        "round" => double(f64::round),
        "fabsf" => single(f32::abs),
        "sqrtf" => single(f32::sqrt),
        "floorf" => single(f32::floor),
        "ceilf" => single(f32::ceil),
        "truncf" => single(f32::trunc),
        "roundf" => single(f32::round),
        _ => return None,
    })
}

/// The types of a function.
#[derive(Clone, Debug)]
pub(super) struct Prototype {
    /// Its name in the C library.
    pub(super) name: String,
    /// The types of its parameters.
    pub(super) parameters: Vec<Ty>,
    /// The type of its result.
    pub(super) returns: Ty,
}

impl Prototype {
    /// Returns the function that a call by a name means: in C++ one of the overloads that the library has for
    /// floating-point numbers ([cmath.syn]); `None` if the table has none of that name.
    ///
    /// # Errors
    /// The overload depends on the headers that the source includes, or is not in the table.
    pub(super) fn called(
        typed: &str,
        arguments: &[Ty],
        language: Language,
        types: CTypes,
    ) -> Option<Result<Prototype, String>> {
        let is_cpp = language == Language::Cpp;
        let of_std = typed.strip_prefix("std::").filter(|_| is_cpp);
        let name = of_std.or(typed.strip_prefix("::")).unwrap_or(typed);
        if language == Language::Rust {
            return None;
        }
        let known = Prototype::named(name, types)?;
        if !is_cpp {
            return Some(Ok(known));
        }
        let other = known.overload(arguments);
        if other == known.name {
            return Some(Ok(known.found_in(arguments)));
        }
        let overload = Prototype::named(&other, types).filter(|_| of_std.is_some());
        Some(overload.ok_or_else(|| {
            format!(
                "`{typed}` for these arguments depends on the headers that the source includes; \
                 cast an argument to `{}`, or call the function of C for its type",
                known
                    .parameters
                    .first()
                    .map_or_else(String::new, |it| it.name().to_string()),
            )
        }))
    }

    /// Returns whether C++ has another overload of that name for these arguments.
    pub(super) fn has_overload(name: &str, arguments: &[Ty], types: CTypes) -> bool {
        let known = Prototype::named(name, types);
        known.is_some_and(|known| known.overload(arguments) != known.name)
    }

    /// Returns the prototype of a name.
    fn named(name: &str, types: CTypes) -> Option<Prototype> {
        let (line, is_single) = line_of(name)?;
        if !is_single {
            return Prototype::read(line, types);
        }
        let mut known = Prototype::read(&line.replace("double", "float"), types)?;
        known.name = name.to_owned();
        Some(known)
    }

    /// Reads a line of the table.
    fn read(line: &str, types: CTypes) -> Option<Prototype> {
        let name = name_in(line)?;
        let (head, rest) = line.split_once('(')?;
        let listed = rest.strip_suffix(')')?.split(", ");
        let listed = listed.filter(|it| *it != "void");
        let parameters: Option<Vec<Ty>> = listed.map(|it| ty(it, types)).collect();
        Some(Prototype {
            name: name.to_owned(),
            parameters: parameters?,
            returns: ty(head.strip_suffix(name)?, types)?,
        })
    }

    /// Returns the function of C that C++'s overload for these arguments is. For `abs` the type of the
    /// argument decides; other functions for `double` are called for integers, too.
    fn overload(&self, arguments: &[Ty]) -> String {
        let formats: Vec<Option<Format>> = arguments.iter().map(format).collect();
        let is_abs = self.name == "abs";
        let takes_double = self.parameters.first().and_then(format) == Some(Format::Double);
        if !is_abs && !takes_double {
            return self.name.clone();
        }
        let suffix = match formats.first() {
            _ if formats
                .iter()
                .any(|it| matches!(it, None | Some(Format::Other))) =>
            {
                "?"
            }
            Some(Some(Format::Long)) if is_abs => return "labs".into(),
            Some(Some(Format::LongLong)) if is_abs => return "llabs".into(),
            Some(Some(Format::Double)) if is_abs => return "fabs".into(),
            Some(Some(Format::Single)) if is_abs => return "fabsf".into(),
            Some(_) if formats.iter().all(|it| *it == Some(Format::Single)) => "f",
            _ => "",
        };
        format!("{}{suffix}", self.name)
    }

    /// Returns this function with the type of its result in C++ ([cstring.syn]): one that finds a place in a
    /// constant text returns a pointer to a constant.
    fn found_in(mut self, arguments: &[Ty]) -> Prototype {
        let finds = ["strchr", "strrchr", "strstr", "strpbrk", "memchr"];
        let is_constant = match arguments.first().map(Ty::shape) {
            Some(Shape::Pointer(of, _)) => of.is_const(),
            Some(Shape::Array(array)) => array.element.is_const(),
            Some(Shape::Text) => true,
            _ => false,
        };
        if let Shape::Pointer(of, _) = self.returns.shape()
            && finds.contains(&&*self.name)
            && is_constant
        {
            self.returns = of.constant().pointer();
        }
        self
    }
}

/// What overloads for numbers differ in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// An integer that is an `int` after its promotion.
    Int,
    Long,
    LongLong,
    Single,
    Double,
    /// `long double`, or an integer that no overload takes.
    Other,
}

/// Returns what overloads see of a number; `None` if it is none.
fn format(ty: &Ty) -> Option<Format> {
    let Shape::Scalar(scalar) = ty.shape() else {
        return None;
    };
    let is_long_long = || ty.strip().name().contains("long long");
    Some(match (scalar.kind, scalar.size) {
        (ScalarKind::Float(Float::Single), _) => Format::Single,
        (ScalarKind::Float(Float::Double), _) => Format::Double,
        (ScalarKind::Float(_) | ScalarKind::Complex(_) | ScalarKind::Address, _) => Format::Other,
        (_, ..4) => Format::Int,
        (ScalarKind::Signed, 4) => Format::Int,
        (ScalarKind::Signed, 8) if is_long_long() => Format::LongLong,
        (ScalarKind::Signed, 8) => Format::Long,
        _ => Format::Other,
    })
}

/// Returns the name that a line of the table declares.
fn name_in(line: &str) -> Option<&str> {
    let head = line.split('(').next()?;
    head.rsplit([' ', '*']).next().filter(|it| !it.is_empty())
}

/// Returns a type by its spelling in a table.
pub(super) fn ty(spelled: &str, types: CTypes) -> Option<Ty> {
    let bare = spelled.trim_end_matches([' ', '*']);
    let levels = spelled.matches('*').count();
    let plain = bare.strip_prefix("const ");
    let of = c::builtin(plain.unwrap_or(bare), types)?;
    let of = match plain {
        Some(_) => of.constant(),
        None => of,
    };
    Some((0..levels).fold(of, |of, _| of.pointer()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// Returns the types of a call by a name, or the error.
    fn called(
        typed: &str,
        arguments: &[&str],
        language: Language,
    ) -> Option<Result<String, String>> {
        let types = Arch::default().machine().c_types();
        let arguments: Vec<Ty> = arguments.iter().filter_map(|it| ty(it, types)).collect();
        let found = Prototype::called(typed, &arguments, language, types)?;
        Some(found.map(|it| format!("{} {}", it.returns.name(), it.name)))
    }

    /// The headers of the C library declare each function as the table does.
    #[test]
    fn prototypes_are_those_of_the_headers() {
        let types = Arch::default().machine().c_types();
        let mut source = String::from("#define __NO_CTYPE\n");
        for header in ["string", "strings", "ctype", "stdlib", "math"] {
            source += &format!("#include <{header}.h>\n");
        }
        for line in PROTOTYPES.lines().filter(|it| !it.is_empty()) {
            let read = Prototype::read(line, types).expect(line);
            source += &format!("{line};\n");
            if line.contains("(double") {
                let single = line.replace("double", "float");
                source += &format!("{};\n", single.replace('(', "f("));
                assert!(Prototype::named(&format!("{}f", read.name), types).is_some());
            }
        }
        let mut gcc = Command::new("gcc");
        let gcc = gcc.args(["-std=gnu11", "-fsyntax-only", "-xc", "-"]);
        let Ok(mut gcc) = gcc.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
            return;
        };
        gcc.stdin
            .take()
            .expect("piped")
            .write_all(source.as_bytes())
            .expect("gcc reads");
        let output = gcc.wait_with_output().expect("gcc ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }

    #[test]
    fn cpp_has_overloads() {
        use Language::{C, Cpp, Rust};
        let is = |typed, arguments: &[&str], language, expected: &str| {
            let found = called(typed, arguments, language).expect(typed);
            assert_eq!(found.as_deref(), Ok(expected), "{typed} {arguments:?}");
        };
        is("abs", &["double"], C, "int abs");
        is("abs", &["int"], Cpp, "int abs");
        is("std::abs", &["double"], Cpp, "double fabs");
        is("std::abs", &["float"], Cpp, "float fabsf");
        is("std::abs", &["long"], Cpp, "long labs");
        is("std::abs", &["long long"], Cpp, "long long llabs");
        is("std::sqrt", &["float"], Cpp, "float sqrtf");
        is("sqrt", &["int"], Cpp, "double sqrt");
        is("std::pow", &["float", "int"], Cpp, "double pow");
        is("std::pow", &["float", "float"], Cpp, "float powf");
        is("::strlen", &["const char *"], C, "size_t strlen");
        is("strchr", &["const char *", "int"], C, "char * strchr");
        is(
            "strchr",
            &["const char *", "int"],
            Cpp,
            "const char * strchr",
        );
        is("std::strchr", &["char *", "int"], Cpp, "char * strchr");
        for (typed, argument) in [("abs", "double"), ("sqrt", "float"), ("std::abs", "size_t")] {
            let found = called(typed, &[argument], Cpp).expect(typed);
            assert!(found.is_err(), "{typed} {argument}");
        }
        for (typed, language) in [("std::strlen", C), ("strlen", Rust), ("exit", C), ("f", C)] {
            assert!(
                called(typed, &["const char *"], language).is_none(),
                "{typed}"
            );
        }
    }
}
