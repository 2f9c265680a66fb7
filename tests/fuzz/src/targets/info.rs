use super::image::{CODE, module};
use super::{Repeating, parts, registers};
use dwarf::{
    FileAddr, FrameContext, Function, LoadAddr, LoadBias, MemberOffset, Module, TypeId, TypeKind,
    Variable,
};

/// The sections, in the order of an input's parts (`seeds.sh` has the same).
const SECTIONS: [&str; 15] = [
    ".debug_abbrev",
    ".debug_info",
    ".debug_str",
    ".debug_line",
    ".debug_line_str",
    ".debug_str_offsets",
    ".debug_addr",
    ".debug_aranges",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_loc",
    ".debug_loclists",
    ".debug_types",
    ".debug_names",
    ".gdb_index",
];

/// Units, their abbreviations, and whatever their entries refer to.
pub fn info(data: &[u8]) {
    let parts: [&[u8]; 15] = parts(data);
    let mut sections = Vec::new();
    for (name, contents) in SECTIONS.iter().zip(parts) {
        sections.push((*name, 0, contents));
    }
    ask(&module(&sections));
}

/// The queries about functions, variables and types.
pub(super) fn ask(module: &Module) {
    for addr in (CODE.start.0..CODE.start.0 + 0x400).step_by(0x14) {
        ask_at(module, FileAddr(addr));
    }
    for name in ["work", "main", "get", "ns::Box::get", "twice", "operator()"] {
        module.inlined_named(name);
        for function in module.functions_named(name) {
            ask_function(module, &function, function.entry);
        }
    }
    let near = Some(CODE.start);
    for name in ["int", "ns::Derived", "Box", "struct point", "Shape", "i32"] {
        for ty in module.types_named(name, near) {
            ask_type(module, ty, 0);
            ask_type(module, module.complete_type(ty), 0);
        }
    }
    for name in ["shared", "ns::Derived::shared", "TOTAL", "origin"] {
        for variable in module.statics_named(name, near) {
            ask_variable(module, None, &variable, CODE.start);
        }
    }
}

/// The queries about the code at an address.
pub(super) fn ask_at(module: &Module, addr: FileAddr) {
    module.language_at(addr);
    module.row_at(addr);
    let Some(function) = module.function_at(addr) else {
        return;
    };
    for frame in function.frames_at(addr) {
        for name in ["shared", "ns::Derived::shared", "N"] {
            module.value_around(name, &frame.scopes, addr);
            module.type_at(name, &frame.scopes, addr);
            let paths = module.visible_paths(name, &frame.scopes, addr);
            module.statics_visible(name, &paths, Some(addr));
        }
        for scope in &frame.scopes {
            module.value_in_block("N", scope);
        }
    }
    if addr.0 % 0x100 < 0x14 {
        module.macro_at(addr, None, "LIMIT");
    }
    module.body_start(&function);
    if addr.0 % 0x100 < 0x14 {
        for variable in module.unit_statics(addr) {
            ask_variable(module, None, &variable, addr);
        }
    }
    ask_function(module, &function, addr);
    module.functions_named(&function.name);
}

fn ask_function(module: &Module, function: &Function, pc: FileAddr) {
    let mut scopes = vec![&function.scope];
    while let Some(scope) = scopes.pop() {
        scopes.extend(&scope.children);
        for variable in &scope.variables {
            ask_variable(module, Some(function), variable, pc);
        }
    }
    if let Some(ty) = function.return_type {
        ask_type(module, ty, 0);
    }
}

fn ask_variable(module: &Module, function: Option<&Function>, variable: &Variable, pc: FileAddr) {
    let frame = FrameContext {
        memory: &Repeating(b"\x40\x10\0\0\0\0\0\0"),
        registers: &registers(module.machine(), &[]),
        cfa: Some(LoadAddr(0x7fff_0000)),
        pc,
        bias: LoadBias(0),
        function,
        tls: &|offset| Some(LoadAddr(0x7000_0000u64.wrapping_add(offset))),
        caller: &|_| None,
        is_spilled: &|_| true,
    };
    // An error is an answer.
    let _ = module.locate(variable, &frame);
    if let Some(ty) = variable.ty {
        ask_type(module, ty, 0);
    }
}

fn ask_type(module: &Module, id: TypeId, depth: u32) {
    let Ok(ty) = module.ty(id) else {
        return;
    };
    module.language_of(id);
    if depth > 3 {
        return;
    }
    match &ty.kind {
        TypeKind::Composite(composite) => {
            for member in composite.members.iter().chain(&composite.statics).take(8) {
                module.static_member(member);
                if let MemberOffset::Expression(die) = member.offset {
                    let frame = FrameContext {
                        memory: &Repeating(b"\x40\x10\0\0\0\0\0\0"),
                        registers: &registers(module.machine(), &[]),
                        cfa: None,
                        pc: CODE.start,
                        bias: LoadBias(0),
                        function: None,
                        tls: &|_| None,
                        caller: &|_| None,
                        is_spilled: &|_| true,
                    };
                    let _ = module.locate_member(die, LoadAddr(0x2000), &frame);
                }
                ask_type(module, member.ty, depth + 1);
            }
            for base in composite.bases.iter().take(4) {
                ask_type(module, base.ty, depth + 1);
            }
        }
        TypeKind::Pointer(Some(target))
        | TypeKind::Typedef(Some(target))
        | TypeKind::Const(Some(target))
        | TypeKind::Volatile(Some(target))
        | TypeKind::Reference(target) => ask_type(module, *target, depth + 1),
        TypeKind::Array(array) => ask_type(module, array.element, depth + 1),
        TypeKind::Subroutine(subroutine) => {
            for ty in subroutine.parameters.iter().take(4) {
                ask_type(module, *ty, depth + 1);
            }
        }
        _ => {}
    }
}
