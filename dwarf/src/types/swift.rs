//! Types of Swift by their mangled names (Swift's docs/ABI/Mangling.rst), as far as a debugger knows their
//! layout.

use super::Encoding;

/// Maximum nesting of types.
const MAX_NESTING: usize = 16;

/// A type of Swift.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SwiftType {
    /// A number or truth value: its name, and how its bytes are read.
    Scalar(&'static str, Encoding, u8),
    /// `String`.
    String,
    /// `[T]`.
    Array(Box<SwiftType>),
    /// `[K : V]`.
    Dictionary(Box<SwiftType>, Box<SwiftType>),
    /// `T?`.
    Optional(Box<SwiftType>),
    /// A class, whose values are addresses of objects.
    Class(String),
    /// A struct or an enum.
    Other(String),
}

impl SwiftType {
    /// Parses the mangled name of a type (`$sSaySiGD`); `None` if a part of it is unknown.
    pub fn parse(mangled: &str) -> Option<SwiftType> {
        let rest = mangled
            .strip_prefix("$s")
            .or_else(|| mangled.strip_prefix("$S"))?;
        let mut parser = Parser(rest.strip_suffix('D')?);
        let ty = parser.ty(0)?;
        parser.0.is_empty().then_some(ty)
    }

    /// Returns the name in Swift's syntax.
    pub fn name(&self) -> String {
        match self {
            SwiftType::Scalar(name, ..) => (*name).to_owned(),
            SwiftType::String => "String".to_owned(),
            SwiftType::Array(of) => format!("[{}]", of.name()),
            SwiftType::Dictionary(key, value) => format!("[{} : {}]", key.name(), value.name()),
            SwiftType::Optional(of) => format!("{}?", of.name()),
            SwiftType::Class(name) | SwiftType::Other(name) => name.clone(),
        }
    }
}

/// The rest of a mangled name.
struct Parser<'a>(&'a str);

impl<'a> Parser<'a> {
    fn take(&mut self, text: &str) -> bool {
        match self.0.strip_prefix(text) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn ty(&mut self, depth: usize) -> Option<SwiftType> {
        if depth >= MAX_NESTING {
            return None;
        }
        let mut ty = self.plain(depth)?;
        // Nesting costs no stack here, but where the result is used.
        for _ in depth..MAX_NESTING {
            if !self.take("Sg") {
                return Some(ty);
            }
            ty = SwiftType::Optional(Box::new(ty));
        }
        None
    }

    fn plain(&mut self, depth: usize) -> Option<SwiftType> {
        if self.take("Say") {
            let of = self.ty(depth + 1)?;
            return self.take("G").then(|| SwiftType::Array(Box::new(of)));
        }
        if self.take("SDy") {
            let (key, value) = (self.ty(depth + 1)?, self.ty(depth + 1)?);
            let both = (Box::new(key), Box::new(value));
            return self
                .take("G")
                .then_some(SwiftType::Dictionary(both.0, both.1));
        }
        if self.take("SS") {
            return Some(SwiftType::String);
        }
        for (code, name) in [
            ("Si", "Int"),
            ("Su", "UInt"),
            ("Sb", "Bool"),
            ("Sd", "Double"),
            ("Sf", "Float"),
        ] {
            if self.take(code) {
                return scalar(name);
            }
        }
        // `s` is the standard library, other modules have a name.
        let is_of_library = self.take("s");
        if !is_of_library {
            self.identifier()?;
        }
        let name = self.identifier()?;
        match self.0.chars().next()? {
            'V' | 'O' | 'C' => {}
            _ => return None,
        }
        let (kind, rest) = self.0.split_at_checked(1)?;
        self.0 = rest;
        if is_of_library && let Some(scalar) = scalar(name) {
            return Some(scalar);
        }
        let name = name.to_owned();
        Some(match kind {
            "C" => SwiftType::Class(name),
            _ => SwiftType::Other(name),
        })
    }

    /// Parses a length and as many bytes; names with substituted words, which begin with 0, are unknown.
    fn identifier(&mut self) -> Option<&'a str> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (length, rest) = self.0.split_at_checked(digits)?;
        if length.starts_with('0') {
            return None;
        }
        let (name, rest) = rest.split_at_checked(length.parse().ok()?)?;
        self.0 = rest;
        Some(name)
    }
}

/// Returns a number of the standard library by its name.
fn scalar(name: &str) -> Option<SwiftType> {
    use Encoding::{Boolean, Float, Signed, Unsigned};
    let all = [
        ("Bool", Boolean, 1),
        ("Int", Signed, 8),
        ("Int8", Signed, 1),
        ("Int16", Signed, 2),
        ("Int32", Signed, 4),
        ("Int64", Signed, 8),
        ("UInt", Unsigned, 8),
        ("UInt8", Unsigned, 1),
        ("UInt16", Unsigned, 2),
        ("UInt32", Unsigned, 4),
        ("UInt64", Unsigned, 8),
        ("Float", Float, 4),
        ("Double", Float, 8),
    ];
    let found = all.into_iter().find(|(known, ..)| *known == name);
    found.map(|(name, encoding, size)| SwiftType::Scalar(name, encoding, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_swift_demangle() {
        for (mangled, name) in [
            ("$sSiD", "Int"),
            ("$sSuD", "UInt"),
            ("$sSbD", "Bool"),
            ("$sSdD", "Double"),
            ("$sSfD", "Float"),
            ("$sSSD", "String"),
            ("$ss5Int32VD", "Int32"),
            ("$ss6UInt64VD", "UInt64"),
            ("$sSaySiGD", "[Int]"),
            ("$sSaySaySSGGD", "[[String]]"),
            ("$sSiSgD", "Int?"),
            ("$sSaySSGSgD", "[String]?"),
            ("$sSDySSSiGD", "[String : Int]"),
            ("$s4enum5ColorOD", "Color"),
            ("$s16AsyncActorGetter8AAGUtilsCD", "AAGUtils"),
        ] {
            assert_eq!(
                SwiftType::parse(mangled).map(|it| it.name()).as_deref(),
                Some(name)
            );
        }
    }

    #[test]
    fn unknown_names_are_left() {
        let deep = format!("$s{}Si{}D", "Say".repeat(100), "G".repeat(100));
        let optional = format!("$sSi{}D", "Sg".repeat(100));
        for mangled in [
            "",
            "$s",
            "$sD",
            "Int",
            "$sSi",
            "$sytD",
            "$sSi_SftD",
            "$sSayD",
            "$s99aVD",
            "$s0aVD",
            "$s18BoundGenericStruct1SVySiGD",
            "$sSDyS2iGD",
            "$s4maiñ1aVD",
            &deep,
            &optional,
        ] {
            assert_eq!(SwiftType::parse(mangled), None, "{mangled}");
        }
    }
}
