//! Random class hierarchies: programs that print what expressions are worth.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Number of hierarchies in a program.
pub const HIERARCHIES: usize = 4;
/// Number of classes of a hierarchy that pointers are declared with.
const SEEN_AS: usize = 2;
/// The mark of a subobject that is shared: the way to it begins at a virtual base.
const SHARED: usize = usize::MAX;

/// How the last class of a hierarchy, which its object has, is declared.
#[derive(Clone, Copy, PartialEq)]
enum Declared {
    InNamespace,
    InFunction,
    AsTemplate,
}

struct Class {
    /// Base classes, and whether each is virtual.
    bases: Vec<(usize, bool)>,
    has_functions: bool,
}

struct Hierarchy {
    number: usize,
    classes: Vec<Class>,
    last: Declared,
    overridden: Vec<usize>,
}

/// A program under construction.
struct Writer {
    state: u64,
    text: String,
}

/// Returns the text of a program. `main` prints a line `NUMBER EXPRESSION = VALUE` for each expression
/// that holds at the mark `hNUMBER`; a line with `?` after the number is of an expression that may be
/// refused.
pub fn text(seed: u64) -> String {
    let mut writer = Writer {
        state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        text: HEAD.to_owned(),
    };
    for number in 0..HIERARCHIES {
        let hierarchy = writer.hierarchy(number);
        writer.declare(&hierarchy);
        writer.look(&hierarchy);
    }
    writer.text.push_str("int main() {\n");
    for number in 0..HIERARCHIES {
        let _ = writeln!(writer.text, "    h{number}::look({number}, 1);");
    }
    writer
        .text
        .push_str("    fflush(stdout);\n    _exit(0);\n}\n");
    writer.text
}

const HEAD: &str = "#include <functional>\n#include <map>\n#include <memory>\n#include <optional>\n\
    #include <stdio.h>\n#include <unistd.h>\n#include <vector>\n\
    static long last;\nstatic long next() { return last += 7; }\n\
    static void say(int number, const char *text, long value) { printf(\"%d %s = %ld\\n\", number, text, value); }\n\
    #define SAY(expression) say(number, #expression, (long)(expression))\n\
    struct Keep { template <class T> void operator()(T *) const {} };\n\
    template <class T> struct Own { T *held; T *operator->() const { return held; } T &operator*() const { return *held; } };\n";

impl Writer {
    /// Returns a random number below `most`.
    fn below(&mut self, most: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % most as u64) as usize
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    fn hierarchy(&mut self, number: usize) -> Hierarchy {
        let count = 3 + self.below(4);
        let mut classes: Vec<Class> = Vec::new();
        for at in 0..count {
            let mut bases: Vec<(usize, bool)> = Vec::new();
            let wanted = match at {
                0 => 0,
                _ if at + 1 == count => 1 + self.below(3),
                _ => self.below(3),
            };
            for _ in 0..wanted {
                let base = self.below(at);
                let is_virtual = self.below(5) < 2;
                // A base that is also one of another base has no name of its own.
                let is_within =
                    |a: usize, b: usize| ways(&classes, a).iter().any(|it| it.last() == Some(&b));
                if bases
                    .iter()
                    .all(|it| !is_within(it.0, base) && !is_within(base, it.0))
                {
                    bases.push((base, is_virtual));
                }
            }
            classes.push(Class {
                bases,
                has_functions: self.below(5) > 0,
            });
        }
        let last = [
            Declared::InNamespace,
            Declared::InFunction,
            Declared::AsTemplate,
        ][self.below(3)];
        let named = ways(&classes, count - 1);
        let named: BTreeSet<usize> = named.iter().filter_map(|it| it.last().copied()).collect();
        let mut overridden = Vec::new();
        for class in named {
            if class + 1 < count && classes[class].has_functions && self.below(2) == 0 {
                overridden.push(class);
            }
        }
        Hierarchy {
            number,
            classes,
            last,
            overridden,
        }
    }

    fn declare(&mut self, hierarchy: &Hierarchy) {
        self.line(&format!("namespace h{} {{", hierarchy.number));
        for at in 0..hierarchy.classes.len() - 1 {
            self.class(hierarchy, at, &format!("K{at}"), "");
        }
        if hierarchy.last == Declared::InNamespace {
            self.class(hierarchy, hierarchy.classes.len() - 1, "Last", "");
        }
        if hierarchy.last == Declared::AsTemplate {
            self.line("template <class T, unsigned long N>");
            self.class(hierarchy, hierarchy.classes.len() - 1, "Made", "");
            self.line("using Last = Made<std::pair<long, char>, 3>;");
        }
    }

    fn class(&mut self, hierarchy: &Hierarchy, at: usize, name: &str, indent: &str) {
        let class = &hierarchy.classes[at];
        let is_last = at + 1 == hierarchy.classes.len();
        let bases: Vec<String> = class
            .bases
            .iter()
            .map(|(base, is_virtual)| {
                let word = if *is_virtual { "virtual " } else { "" };
                format!("{word}K{base}")
            })
            .collect();
        let bases = match bases.is_empty() {
            true => String::new(),
            false => format!(" : {}", bases.join(", ")),
        };
        let mut text = format!("{indent}struct {name}{bases} {{ ");
        if self.below(2) == 0 {
            let _ = write!(text, "char pad{at}[{}]; ", 1 + self.below(20));
        }
        let _ = write!(text, "long m{at} = next(), x = next(); ");
        if class.has_functions {
            let _ = write!(text, "virtual long f{at}() {{ return m{at} + 1000; }} ");
            if self.below(3) > 0 {
                let _ = write!(text, "virtual ~{name}() {{}} ");
            }
        }
        if is_last {
            for base in &hierarchy.overridden {
                let _ = write!(
                    text,
                    "long f{base}() override {{ return m{at} * 3 + {base}; }} "
                );
            }
        }
        text.push_str("};");
        self.line(&text);
    }

    /// Writes the function that looks at an object of a hierarchy.
    fn look(&mut self, hierarchy: &Hierarchy) {
        let last = hierarchy.classes.len() - 1;
        self.line("long look(int number, int) {");
        if hierarchy.last == Declared::InFunction {
            self.class(hierarchy, last, "Last", "    ");
        }
        self.line("    Last *object = new Last;");
        // Compilers leave out classes that are used only in casts.
        let named = (0..last).map(|it| format!("K{it} other{it};"));
        let named: Vec<String> = named.collect();
        self.line(&format!("    {}", named.join(" ")));
        let mut seen: Vec<usize> = (0..=last)
            .filter(|it| hierarchy.is_one(last, *it))
            .collect();
        while seen.len() > SEEN_AS {
            let out = self.below(seen.len());
            seen.remove(out);
        }
        for at in &seen {
            self.pointers(hierarchy, *at);
        }
        self.line(&format!(
            "    last += number; //@ h{}\n    return last;\n}}\n}}",
            hierarchy.number
        ));
    }

    /// Writes pointers to an object that are declared with one of its classes, and what they show.
    fn pointers(&mut self, hierarchy: &Hierarchy, at: usize) {
        let last = hierarchy.classes.len() - 1;
        let class = match at == last {
            true => "Last".to_owned(),
            false => format!("K{at}"),
        };
        for declaration in [
            format!("{class} *raw{at} = object, &ref{at} = *object;"),
            format!("std::unique_ptr<{class}, Keep> up{at}(object);"),
            format!(
                "std::shared_ptr<{class}> sp{at}(object, Keep()); std::weak_ptr<{class}> wp{at} = sp{at};"
            ),
            format!(
                "std::shared_ptr<const {class}> cp{at} = sp{at}; const std::shared_ptr<{class}> kp{at} = sp{at};"
            ),
            format!(
                "std::vector<std::shared_ptr<{class}>> vec{at} = {{sp{at}}}; std::map<int, std::shared_ptr<{class}>> map{at} = {{{{1, sp{at}}}}};"
            ),
            format!(
                "std::optional<std::shared_ptr<{class}>> opt{at} = sp{at}; std::reference_wrapper<{class}> rw{at} = *object; Own<{class}> own{at} = {{object}};"
            ),
        ] {
            self.line(&format!("    {declaration}"));
        }
        let objects = [
            format!("raw{at}->"),
            format!("ref{at}."),
            format!("up{at}->"),
            format!("(*up{at})."),
            format!("up{at}.get()->"),
            format!("sp{at}->"),
            format!("(*sp{at})."),
            format!("cp{at}->"),
            format!("kp{at}->"),
            format!("wp{at}.lock()->"),
            format!("vec{at}[0]->"),
            format!("map{at}.at(1)->"),
            format!("(*opt{at})->"),
            format!("rw{at}.get()."),
            format!("own{at}->"),
        ];
        let bases: Vec<usize> = (0..at).filter(|it| hierarchy.is_one(at, *it)).collect();
        let is_polymorphic = hierarchy.is_polymorphic(at);
        for object in &objects {
            self.line(&format!("    SAY({object}m{at}); SAY({object}x);"));
            if !bases.is_empty() {
                let base = bases[self.below(bases.len())];
                self.line(&format!("    SAY({object}m{base});"));
                if hierarchy.classes[base].has_functions && !object.starts_with("cp") {
                    self.line(&format!("    SAY({object}f{base}());"));
                }
            }
            if hierarchy.classes[at].has_functions && !object.starts_with("cp") {
                self.line(&format!("    SAY({object}f{at}());"));
            }
            // Only the debugger finds members of the dynamic class.
            if is_polymorphic && at != last && !object.starts_with("own") {
                self.line(&format!(
                    "    say(number, \"{object}m{last}\", object->m{last});"
                ));
            }
        }
        self.casts(hierarchy, at);
    }

    fn casts(&mut self, hierarchy: &Hierarchy, at: usize) {
        let last = hierarchy.classes.len() - 1;
        // Expressions cannot name a class of a function.
        let named = match hierarchy.last {
            Declared::InFunction => last,
            _ => last + 1,
        };
        let name = |class: usize| match class == last {
            true => "Last".to_owned(),
            false => format!("K{class}"),
        };
        if hierarchy.is_polymorphic(at) {
            self.line(&format!(
                "    say(number, \"(long)dynamic_cast<void *>(raw{at}) - (long)object\", 0);"
            ));
            for to in 0..named {
                let cast = format!("dynamic_cast<{} *>(raw{at})", name(to));
                if to < at && !hierarchy.is_one(at, to) && hierarchy.has(at, to) {
                    continue;
                }
                self.line(&format!("    SAY({cast} == nullptr);"));
                self.line(&format!(
                    "    if (auto *part = {cast}) say(number, \"{cast}->m{to}\", part->m{to});"
                ));
            }
        }
        for to in at + 1..named {
            if !hierarchy.is_one(last, to) || !hierarchy.is_one(to, at) {
                continue;
            }
            let truth = format!("static_cast<{} *>(object)->m{to}", name(to));
            // A class without virtual functions does not show where its object is.
            let mark = match hierarchy.is_polymorphic(at) {
                true => "",
                false => "? ",
            };
            for cast in [
                format!("static_cast<{} *>(raw{at})->m{to}", name(to)),
                format!("(({} &)*up{at}).m{to}", name(to)),
                format!("(({} *)&*sp{at})->m{to}", name(to)),
                format!("static_cast<const {} &>(ref{at}).m{to}", name(to)),
            ] {
                self.line(&format!("    say(number, \"{mark}{cast}\", {truth});"));
            }
        }
    }
}

impl Hierarchy {
    /// Returns whether an object of a class has exactly one part of another, which may be itself.
    fn is_one(&self, class: usize, part: usize) -> bool {
        self.count(class, part) == 1
    }

    fn has(&self, class: usize, part: usize) -> bool {
        self.count(class, part) > 0
    }

    fn count(&self, class: usize, part: usize) -> usize {
        let ways = ways(&self.classes, class);
        ways.iter().filter(|it| it.last() == Some(&part)).count()
    }

    fn is_polymorphic(&self, class: usize) -> bool {
        let own = &self.classes[class];
        let overrides = class + 1 == self.classes.len() && !self.overridden.is_empty();
        own.has_functions
            || overrides
            || own.bases.iter().any(|(base, _)| self.is_polymorphic(*base))
    }
}

/// Returns the parts of an object of a class, each as the way to it from the object, or from the last
/// virtual base on the way.
fn ways(classes: &[Class], class: usize) -> BTreeSet<Vec<usize>> {
    let mut found = BTreeSet::new();
    let mut left = vec![vec![class]];
    while let Some(way) = left.pop() {
        let end = way.last().copied().unwrap_or(class);
        if !found.insert(way.clone()) {
            continue;
        }
        for (base, is_virtual) in &classes[end].bases {
            left.push(match is_virtual {
                true => vec![SHARED, *base],
                false => [&way[..], &[*base]].concat(),
            });
        }
    }
    found
}
