//! What debug info says, as text: two readings of the same program are equal if their texts are.

use dwarf::{
    AddrRange, FileAddr, Function, Language, MemberOffset, Module, Scope, ScopeKind,
    SourceLocation, StaticLocation, TypeId, TypeKind, Variable,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How far types are followed.
const DEPTH: usize = 4;

/// Everything about the functions at these addresses, by a title.
pub fn described(module: &Module, addrs: &BTreeSet<u64>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut inlined = BTreeSet::new();
    for addr in addrs {
        let addr = FileAddr(*addr);
        let Some(function) = module.function_at(addr) else {
            found.insert(format!("{addr}"), "no function".to_owned());
            continue;
        };
        let title = format!("{addr} {}", function.name);
        found.insert(format!("{title}: lines"), lines(module, &function));
        found.insert(format!("{title}: calls"), calls(module, &function));
        found.insert(
            format!("{title}: body"),
            module.body_start(&function).to_string(),
        );
        found.insert(title, text_of(module, &function));
        collect_inlined(&function.scope, &mut inlined);

        // dsymutil leaves out variables without a location.
        let has_location = |variable: &Variable| {
            let location = module.locate_static(variable, None, addr);
            !matches!(location, Ok(StaticLocation::OptimizedOut))
        };
        let statics_of_unit = module.unit_statics(addr).into_iter();
        let statics_of_unit: Vec<Variable> = statics_of_unit.filter(has_location).collect();
        let mut statics: Vec<String> = statics_of_unit
            .iter()
            .map(|variable| variable_text(module, None, variable, addr))
            .collect();
        statics.sort();
        found.insert(format!("{addr}: variables of the unit"), statics.join("\n"));
        for variable in statics_of_unit {
            let name = variable.qualified_name();
            let named = module.statics_named(&name, None);
            let mut named: Vec<String> = named
                .iter()
                .filter(|variable| has_location(variable))
                .map(|variable| variable_text(module, None, variable, addr))
                .collect();
            named.sort();
            // Units can describe the same variable of a template.
            named.dedup();
            found.insert(format!("variable {name}"), named.join("\n"));
        }
        let named = module.functions_named(&function.name);
        let entries: Vec<FileAddr> = named.iter().map(|it| it.entry).collect();
        found.insert(
            format!("function {}", function.name),
            format!("{entries:?}"),
        );
    }
    for name in inlined {
        let entries = module.inlined_named(&name);
        found.insert(format!("copies of {name}"), format!("{entries:?}"));
    }
    found
}

/// The locations of all lines of source files, by file and line.
pub fn locations(module: &Module) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for file in module.source_files() {
        let lines = module.lines_with_code(&file);
        for line in lines {
            let places = module.line_locations(&file, line);
            let mut text = String::new();
            for place in places {
                let column = place.location.column;
                let _ = write!(text, "{}:{column}:{} ", place.addr, place.is_stmt);
            }
            found.insert(format!("{}:{line}", file.path.display()), text);
        }
    }
    found
}

fn collect_inlined(scope: &Scope, found: &mut BTreeSet<String>) {
    if let ScopeKind::Inlined(call) = &scope.kind {
        found.insert(call.name.clone());
    }
    for child in &scope.children {
        collect_inlined(child, found);
    }
}

fn place(location: Option<&SourceLocation>) -> String {
    location.map_or("-".to_owned(), |it| {
        format!("{}:{}:{}", it.file.path.display(), it.line, it.column)
    })
}

fn ranges(ranges: &[AddrRange<FileAddr>]) -> String {
    let mut sorted: Vec<_> = ranges.iter().map(|it| (it.start, it.end)).collect();
    sorted.sort();
    format!("{sorted:?}")
}

fn lines(module: &Module, function: &Function) -> String {
    let mut text = String::new();
    for range in &function.ranges {
        for row in module.rows_in(*range) {
            let location = place(row.location.as_ref());
            let (is_stmt, is_end) = (row.is_stmt, row.prologue_end);
            let (start, end) = (row.range.start, row.range.end);
            let _ = writeln!(text, "{start} {end} {location} {is_stmt} {is_end}");
        }
    }
    text
}

/// The addresses that calls of known functions return to.
fn calls(module: &Module, function: &Function) -> String {
    let mut text = String::new();
    for range in &function.ranges {
        for addr in range.start.0 + 1..=range.end.0 {
            if module.callee_at(FileAddr(addr)).is_some() {
                let _ = writeln!(text, "{addr:#x}");
            }
        }
    }
    text
}

fn text_of(module: &Module, function: &Function) -> String {
    let mut text = format!(
        "{} {:?} {} {} {:?} {:?} {} {} {:?}\n{} {}\n",
        function.name,
        function.linkage_name,
        ranges(&function.ranges),
        function.entry,
        function.language,
        function.coroutine,
        function.is_external,
        function.noreturn,
        function.frame_base,
        place(function.declaration.as_ref()),
        type_text(module, function.return_type, DEPTH),
    );
    scope_text(module, function, &function.scope, &mut text);
    text
}

fn scope_text(module: &Module, function: &Function, scope: &Scope, text: &mut String) {
    let kind = match &scope.kind {
        ScopeKind::Function => "function".to_owned(),
        ScopeKind::Block => "block".to_owned(),
        ScopeKind::Inlined(call) => format!(
            "{} at {} from {} {}",
            call.name,
            call.entry,
            place(call.call_site.as_ref()),
            place(call.declaration.as_ref())
        ),
    };
    let _ = writeln!(text, "{{ {kind} {}", ranges(&scope.ranges));
    let rows = scope.ranges.iter().flat_map(|range| module.rows_in(*range));
    let pcs: BTreeSet<FileAddr> = rows.map(|row| row.range.start).collect();
    for variable in &scope.variables {
        for pc in &pcs {
            let _ = writeln!(
                text,
                "{pc} {}",
                variable_text(module, Some(function), variable, *pc)
            );
        }
    }
    for child in &scope.children {
        scope_text(module, function, child, text);
    }
    text.push_str("}\n");
}

fn variable_text(
    module: &Module,
    function: Option<&Function>,
    variable: &Variable,
    pc: FileAddr,
) -> String {
    let location = match module.locate_static(variable, function, pc) {
        Ok(location) => format!("{location:?}"),
        // Its position in the file differs.
        Err(error) => format!("{error}")
            .split(": ")
            .last()
            .unwrap_or("")
            .to_owned(),
    };
    format!(
        "{} {:?} {} {:?} {} {} {:?} {:?} {location} {}",
        variable.qualified_name(),
        variable.kind,
        place(variable.declaration.as_ref()),
        variable.is_external,
        variable.artificial,
        variable.is_only_declared,
        variable.mangled_name,
        variable.place,
        type_text(module, variable.ty, DEPTH),
    )
}

fn type_text(module: &Module, ty: Option<TypeId>, depth: usize) -> String {
    let Some(id) = ty else {
        return "void".to_owned();
    };
    let ty = match module.ty(module.complete_type(id)) {
        Ok(ty) => ty,
        Err(error) => return error.to_string(),
    };
    let mut text = format!("{} {:?} ", ty.name, ty.size);
    let Some(depth) = depth.checked_sub(1) else {
        return text;
    };
    let inner = |ty| type_text(module, ty, depth);
    let _ = match &ty.kind {
        TypeKind::Base(base) => write!(text, "{base:?}"),
        TypeKind::Pointer(to) => write!(text, "*({})", inner(*to)),
        TypeKind::Reference(to) => write!(text, "&({})", inner(Some(*to))),
        TypeKind::RvalueReference(to) => write!(text, "&&({})", inner(Some(*to))),
        TypeKind::Array(array) => {
            write!(text, "[{}; {:?}]", inner(Some(array.element)), array.counts)
        }
        TypeKind::Typedef(to) => write!(text, "typedef {}", inner(*to)),
        TypeKind::Const(to) => write!(text, "const {}", inner(*to)),
        TypeKind::Volatile(to) => write!(text, "volatile {}", inner(*to)),
        TypeKind::Composite(composite) => {
            let _ = write!(text, "{:?} {{", composite.kind);
            for base in &composite.bases {
                let _ = write!(text, "base {}; ", inner(Some(base.ty)));
            }
            for member in composite.members.iter().chain(&composite.statics) {
                let offset = match &member.offset {
                    MemberOffset::Bytes(bytes) => *bytes as i64,
                    MemberOffset::Expression(_) | MemberOffset::AtRuntime => -1,
                };
                let ty = inner(Some(member.ty));
                let _ = write!(text, "{offset} {} {:?} {ty}; ", member.name, member.bits);
                let value = module.static_member(member);
                if let Some(value) = value {
                    text.push_str(&variable_text_without_type(module, &value));
                }
            }
            for variant in composite.variants.iter().flat_map(|it| &it.variants) {
                for member in &variant.members {
                    let ty = inner(Some(member.ty));
                    let _ = write!(text, "{:?} {} {ty}; ", variant.values, member.name);
                }
            }
            write!(text, "}}")
        }
        // dsymutil loses the enumerators of some enums of Rust.
        TypeKind::Enumeration(_) if module.language_of(id) == Some(Language::Rust) => Ok(()),
        TypeKind::Enumeration(enumeration) => write!(text, "{:?}", enumeration.enumerators),
        TypeKind::Subroutine(function) => write!(
            text,
            "fn({}) {}",
            function
                .parameters
                .iter()
                .map(|it| inner(Some(*it)))
                .collect::<Vec<_>>()
                .join(", "),
            inner(function.return_type)
        ),
        _ => Ok(()),
    };
    text
}

fn variable_text_without_type(module: &Module, variable: &Variable) -> String {
    let name = variable.qualified_name();
    match module.locate_static(variable, None, FileAddr(0)) {
        // Of a static member that the linker left out, dsymutil keeps only the declaration.
        Ok(StaticLocation::OptimizedOut) | Err(dwarf::Error::Unsupported(_)) => String::new(),
        location => format!("{name} {:?} {location:?} ", variable.place),
    }
}
