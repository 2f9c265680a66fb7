//! Random sets of images that define the same names in many ways. The code of each image keeps what it reads
//! of each name, and where, in locals.

use std::fmt::Write as _;
use std::path::Path;

/// How an image declares a name.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Absent,
    Static,
    Hidden,
    Exported,
    Weak,
    Inline,
    /// Declared and weak: it need not be defined anywhere.
    Wanted,
    /// Declared only.
    Extern,
}

/// What a name is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Global,
    InNamespace,
    Member,
    ThreadLocal,
    Function,
}

const NAMES: [(&str, Kind); 8] = [
    ("v0", Kind::Global),
    ("v1", Kind::Global),
    ("v2", Kind::Global),
    ("n::v3", Kind::InNamespace),
    ("Class4::v4", Kind::Member),
    ("t5", Kind::ThreadLocal),
    ("f6", Kind::Function),
    ("f7", Kind::Function),
];

/// A name that the code of an image uses. Its value is in the local `rN` (of a function, what a call
/// returns), a variable's address in `aN`; and in `wN` its value once more, later.
pub struct Used {
    pub expression: &'static str,
    pub number: usize,
    pub is_function: bool,
    /// Whether a condition with it can be compiled.
    pub is_plain: bool,
}

/// An image: its source, how it is compiled, and the names that its code uses.
pub struct Image {
    pub text: String,
    pub compiler: &'static str,
    pub flags: Vec<String>,
    pub used: Vec<Used>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// The header that all images include: a function with a variable that they share.
pub const HEADER: &str = "inline int bump() {
    static int kept = 100;
    kept++;
    long kept_at = (long)&kept;
    int kept_value = kept;
    return kept_value + (int)kept_at; //@ kept
}
";

/// Returns the images of a seed, to be compiled in this order: the libraries, `lib1.so` and so on, then the program.
pub fn images(seed: u64, folder: &Path) -> Vec<Image> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let libraries = 2 + random.below(3) as usize;
    let linked = random.below(libraries as u64) as usize;
    let mut roles: Vec<Vec<Role>> = Vec::new();
    let mut all = Vec::new();
    for number in 1..=libraries {
        // One that is opened may be in a namespace of its own.
        let others = if number <= linked { number - 1 } else { 0 };
        let own = own_roles(&mut random, &roles[..others]);
        let mut flags = vec!["-fPIC".to_owned(), "-shared".to_owned()];
        let ways: [&[&str]; 7] = [
            &[],
            &[],
            &["-Wl,-Bsymbolic"],
            &["-Wl,-Bsymbolic-functions"],
            &["-fno-plt"],
            &["-Wl,-z,now"],
            &["-fno-semantic-interposition"],
        ];
        flags.extend(random.of(&ways).iter().map(|it| (*it).to_owned()));
        all.push(image(&mut random, number, &own, flags));
        roles.push(own);
    }
    let own = own_roles(&mut random, &roles[..linked]);
    let pie: [&[&str]; 3] = [
        &["-fPIE", "-pie"],
        &["-fPIE", "-pie"],
        &["-fno-PIE", "-no-pie"],
    ];
    let mut flags: Vec<String> = random.of(&pie).iter().map(|it| (*it).to_owned()).collect();
    let more: [&[&str]; 3] = [&[], &["-rdynamic"], &["-Wl,-z,lazy"]];
    flags.extend(random.of(&more).iter().map(|it| (*it).to_owned()));
    flags.push("-Wl,--no-as-needed".to_owned());
    let library = |number: usize| folder.join(format!("lib{number}.so")).display().to_string();
    flags.extend((1..=linked).map(library));
    flags.push("-ldl".to_owned());
    let mut program = image(&mut random, 0, &own, flags);
    program
        .text
        .push_str(&main(&mut random, libraries, linked, &library));
    all.push(program);
    all
}

/// Returns how an image declares the names. `others`: images whose definitions it can use.
fn own_roles(random: &mut Random, others: &[Vec<Role>]) -> Vec<Role> {
    let of_name = |(at, (_, kind)): (usize, &(&str, Kind))| {
        let is_defined = others.iter().any(|it| it[at] == Role::Exported);
        match random.below(3) {
            0 | 1 if is_defined => Role::Extern,
            _ => role(random, *kind),
        }
    };
    NAMES.iter().enumerate().map(of_name).collect()
}

fn role(random: &mut Random, kind: Kind) -> Role {
    let roles: &[Role] = match kind {
        Kind::Member => &[
            Role::Absent,
            Role::Hidden,
            Role::Exported,
            Role::Exported,
            Role::Inline,
            Role::Inline,
        ],
        Kind::ThreadLocal => &[
            Role::Absent,
            Role::Static,
            Role::Hidden,
            Role::Exported,
            Role::Inline,
            Role::Inline,
        ],
        _ => &[
            Role::Absent,
            Role::Static,
            Role::Hidden,
            Role::Exported,
            Role::Exported,
            Role::Weak,
            Role::Inline,
            Role::Wanted,
        ],
    };
    random.of(roles)
}

/// Writes the source of an image.
fn image(random: &mut Random, number: usize, roles: &[Role], flags: Vec<String>) -> Image {
    let mut text = "#include \"bump.h\"\n".to_owned();
    let mut used = Vec::new();
    for (at, ((expression, kind), role)) in NAMES.iter().zip(roles).enumerate() {
        if *role == Role::Absent {
            continue;
        }
        let _ = writeln!(
            text,
            "{}",
            declaration(expression, *kind, *role, 1000 * number + 100 + at)
        );
        used.push(Used {
            expression,
            number: at,
            is_function: *kind == Kind::Function,
            is_plain: !matches!(kind, Kind::Function | Kind::ThreadLocal),
        });
    }
    let _ = writeln!(
        text,
        "extern \"C\" long see{number}() {{\n    long end = bump();"
    );
    let each = |text: &mut String, line: &dyn Fn(&Used) -> String| {
        for it in &used {
            text.push_str(&line(it));
        }
    };
    each(&mut text, &|it| {
        let (name, at) = (it.expression, it.number);
        let value = if it.is_function {
            format!("{name}()")
        } else {
            name.to_owned()
        };
        format!("    long a{at} = (long)&{name}; int r{at} = a{at} ? {value} : -1;\n")
    });
    text.push_str("    end++; //@ before\n");
    let variables = |line: &dyn Fn(&Used) -> String| -> String {
        used.iter().filter(|it| !it.is_function).map(line).collect()
    };
    text.push_str(&variables(&|it| {
        let (name, at) = (it.expression, it.number);
        format!("    int w{at} = a{at} ? {name} : -1;\n")
    }));
    text.push_str("    end++; //@ after\n    for (int i = 0; i < 60; i++) {\n");
    text.push_str(&variables(&|it| {
        let (name, at) = (it.expression, it.number);
        format!("        if (a{at}) {name}++;\n")
    }));
    text.push_str("        end += i; //@ loop\n    }\n    return end;\n}\n");
    Image {
        text,
        compiler: random.of(&["g++", "g++", "clang++"]),
        flags,
        used,
    }
}

/// Returns a declaration of a name; `value` is what a definition begins with.
fn declaration(expression: &str, kind: Kind, role: Role, value: usize) -> String {
    let (scope, name) = expression.rsplit_once("::").unwrap_or(("", expression));
    let (before, attribute) = match role {
        Role::Static => ("static ", ""),
        Role::Hidden => ("", " __attribute__((visibility(\"hidden\")))"),
        Role::Weak => ("", " __attribute__((weak))"),
        Role::Inline => ("inline ", ""),
        Role::Wanted => ("extern ", " __attribute__((weak))"),
        Role::Extern => ("extern ", ""),
        Role::Exported | Role::Absent => ("", ""),
    };
    let is_defined = !matches!(role, Role::Wanted | Role::Extern);
    let initial = if is_defined {
        format!(" = {value}")
    } else {
        String::new()
    };
    match kind {
        Kind::Global => format!("{before}int {name}{attribute}{initial};"),
        Kind::InNamespace => {
            format!("namespace {scope} {{ {before}int {name}{attribute}{initial}; }}")
        }
        Kind::ThreadLocal => format!("{before}__thread int {name}{attribute}{initial};"),
        Kind::Function => match is_defined {
            true => format!("{before}{attribute} int {name}() {{ return {value}; }}"),
            false => format!("{before}int {name}(){attribute};"),
        },
        Kind::Member => match role {
            Role::Inline => format!("struct {scope} {{ inline static int {name}{initial}; }};"),
            _ => {
                let definition = format!("int {scope}::{name}{initial};");
                let definition = if is_defined { &*definition } else { "" };
                format!("struct {scope} {{ static int {name}{attribute}; }}; {definition}")
            }
        },
    }
}

/// Returns the main function, which opens the libraries that are not linked.
fn main(
    random: &mut Random,
    libraries: usize,
    linked: usize,
    library: &dyn Fn(usize) -> String,
) -> String {
    let mut text = "#include <dlfcn.h>\nusing See = long();\n".to_owned();
    for number in 1..=linked {
        let _ = writeln!(text, "extern \"C\" See see{number};");
    }
    text.push_str("int main() {\n    long sum = see0();\n");
    for number in 1..=linked {
        let _ = writeln!(text, "    sum += see{number}();");
    }
    let ways = [
        "dlopen(PATH, RTLD_NOW | RTLD_LOCAL)",
        "dlopen(PATH, RTLD_LAZY | RTLD_LOCAL)",
        "dlopen(PATH, RTLD_NOW | RTLD_GLOBAL)",
        "dlopen(PATH, RTLD_NOW | RTLD_DEEPBIND)",
        "dlmopen(LM_ID_NEWLM, PATH, RTLD_NOW)",
    ];
    for number in linked + 1..=libraries {
        let path = format!("\"{}\"", library(number));
        let open = random.of(&ways).replace("PATH", &path);
        let _ = writeln!(
            text,
            "    if (void *it = {open}) sum += ((See *)dlsym(it, \"see{number}\"))(); else return {number};"
        );
    }
    text.push_str("    return sum == 1;\n}\n");
    text
}
