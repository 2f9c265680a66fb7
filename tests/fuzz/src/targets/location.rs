use super::image::{CODE, module};
use super::{Repeating, parts, registers};
use dwarf::{
    CallerFrame, FileAddr, FrameContext, LoadAddr, LoadBias, MemberOffset, Scope, TypeKind,
    Variable,
};

/// Tag, whether there are children, names of attributes and their forms; the abbreviations'
/// codes count from 1.
const ENTRIES: &[(u8, u8, &[u8])] = &[
    // 1, DW_TAG_compile_unit: low_pc, high_pc, loclists_base, addr_base
    (0x11, 1, b"\x11\x01\x12\x06\x8c\x01\x17\x73\x17"),
    // 2, DW_TAG_subprogram: name, low_pc, high_pc, frame_base
    (0x2e, 1, b"\x03\x08\x11\x01\x12\x06\x40\x18"),
    // 3, DW_TAG_variable: name, type, location as an expression
    (0x34, 0, b"\x03\x08\x49\x13\x02\x18"),
    // 4, DW_TAG_variable: name, type, location as an offset of a list
    (0x34, 0, b"\x03\x08\x49\x13\x02\x17"),
    // 5, DW_TAG_base_type: byte_size, encoding
    (0x24, 0, b"\x0b\x0b\x3e\x0b"),
    // 6, DW_TAG_call_site: call_return_pc, call_origin
    (0x48, 1, b"\x7d\x01\x7f\x13"),
    // 7, DW_TAG_call_site_parameter: location, call_value
    (0x49, 0, b"\x02\x18\x7e\x18"),
    // 8, DW_TAG_structure_type: name, byte_size
    (0x13, 1, b"\x03\x08\x0b\x0b"),
    // 9, DW_TAG_member: name, type, data_member_location
    (0x0d, 0, b"\x03\x08\x49\x13\x38\x18"),
    // 10, DW_TAG_variable: name, type, const_value as a block
    (0x34, 0, b"\x03\x08\x49\x13\x1c\x0a"),
    // 11, DW_TAG_call_site: call_return_pc
    (0x48, 1, b"\x7d\x01"),
];

/// Sizes and encodings of the base types, for operations on typed values.
const BASE_TYPES: [[u8; 2]; 8] = [
    [4, 5],
    [8, 7],
    [1, 5],
    [2, 7],
    [4, 4],
    [8, 4],
    [1, 2],
    [16, 4],
];

/// Where the caller's call returns to: that of the function, and one through a pointer.
const RETURN: u64 = CODE.start.0 + 0x210;
const RETURN_BY_POINTER: u64 = CODE.start.0 + 0x230;
const BIAS: LoadBias = LoadBias(0x1_0000);

fn abbreviations() -> Vec<u8> {
    let mut section = Vec::new();
    for (code, (tag, children, attributes)) in (1..).zip(ENTRIES) {
        section.extend([code, *tag, *children]);
        section.extend(*attributes);
        section.extend([0, 0]);
    }
    section.push(0);
    section
}

/// A block with its length before it.
fn block(section: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(0x3fff)];
    section.extend([bytes.len() as u8 | 0x80, (bytes.len() >> 7) as u8]);
    section.extend(bytes);
}

/// Location expressions and lists: version, frame base, location, the caller's parameter and
/// its value, a member's place, lists, addresses, memory, registers, more parameters and values.
pub fn location(data: &[u8]) {
    let parts: [&[u8]; 24] = parts(data);
    let [version, frame_base, place, parameter, value, rest @ ..] = parts;
    let [member, lists, addresses, memory, values, more @ ..] = rest;
    let version: u8 = if version.first() == Some(&4) { 4 } else { 5 };
    let mut info = match version {
        4 => vec![0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8],
        _ => vec![0, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0],
    };
    info.push(1);
    info.extend(CODE.start.0.to_le_bytes());
    info.extend(((CODE.end - CODE.start) as u32).to_le_bytes());
    info.extend([12, 0, 0, 0, 8, 0, 0, 0]);
    let int = (info.len() as u32).to_le_bytes();
    for [size, encoding] in BASE_TYPES {
        info.extend([5, size, encoding]);
    }
    let structure = (info.len() as u32).to_le_bytes();
    info.extend(b"\x08s\0\x10\x09m\0");
    info.extend(int);
    block(&mut info, member);
    info.push(0);

    let function = (info.len() as u32).to_le_bytes();
    let begin = |info: &mut Vec<u8>, name: u8, start: u64| {
        info.extend([2, name, 0]);
        info.extend(start.to_le_bytes());
        info.extend(0x100u32.to_le_bytes());
    };
    begin(&mut info, b'f', CODE.start.0);
    block(&mut info, frame_base);
    for (name, ty) in [(b'a', int), (b'b', structure)] {
        info.extend([3, name, 0]);
        info.extend(ty);
        block(&mut info, place);
    }
    // A list's offset is from the section's start; behind its header in version 5.
    info.extend(b"\x04c\0");
    info.extend(int);
    info.extend(if version == 4 { [0; 4] } else { [12, 0, 0, 0] });
    info.extend(b"\x0ad\0");
    info.extend(structure);
    let constant = &place[..place.len().min(255)];
    info.push(constant.len() as u8);
    info.extend(constant);
    info.push(0);

    begin(&mut info, b'g', CODE.start.0 + 0x200);
    block(&mut info, frame_base);
    let parameters = |info: &mut Vec<u8>| {
        for pair in [parameter, value].chunks(2).chain(more.chunks(2)) {
            info.push(7);
            pair.iter().for_each(|part| block(info, part));
        }
        info.push(0);
    };
    info.push(6);
    info.extend(RETURN.to_le_bytes());
    info.extend(function);
    parameters(&mut info);
    info.push(11);
    info.extend(RETURN_BY_POINTER.to_le_bytes());
    parameters(&mut info);
    info.extend([0, 0]);
    let length = (info.len() as u32 - 4).to_le_bytes();
    info[..4].copy_from_slice(&length);

    let mut loclists = ((lists.len() + 8) as u32).to_le_bytes().to_vec();
    loclists.extend([5, 0, 8, 0, 0, 0, 0, 0]);
    loclists.extend(lists);
    let mut addr = ((addresses.len() + 4) as u32).to_le_bytes().to_vec();
    addr.extend([5, 0, 8, 0]);
    addr.extend(addresses);
    let module = module(&[
        (".debug_abbrev", 0, &abbreviations()),
        (".debug_info", 0, &info),
        (".debug_loc", 0, lists),
        (".debug_loclists", 0, &loclists),
        (".debug_addr", 0, &addr),
    ]);

    let memory = Repeating(memory);
    let callers = |level: u32| {
        let mut registers = registers(module.machine(), values);
        let call = if level == 0 {
            RETURN
        } else {
            RETURN_BY_POINTER
        };
        registers.set_pc(call);
        (level < 8).then_some(CallerFrame {
            registers,
            return_address: BIAS.load(FileAddr(call)),
            jump: level
                .is_multiple_of(2)
                .then(|| BIAS.load(FileAddr(call - 1))),
            cfa: Some(LoadAddr(0x7fff_1000)),
        })
    };
    for pc in [CODE.start, CODE.start + 9] {
        let function = module.function_at(pc);
        let frame = FrameContext {
            memory: &memory,
            registers: &registers(module.machine(), values),
            cfa: Some(LoadAddr(0x7fff_0000)),
            pc,
            bias: BIAS,
            function: function.as_deref(),
            tls: &|offset| Some(LoadAddr(0x7000_0000u64.wrapping_add(offset))),
            caller: &callers,
            is_spilled: &|_| true,
        };
        let locate = |variable: &Variable| {
            // An error is an answer.
            let _ = module.locate(variable, &frame);
            let Some(Ok(ty)) = variable.ty.map(|ty| module.ty(ty)) else {
                return;
            };
            if let TypeKind::Composite(composite) = &ty.kind {
                for member in &composite.members {
                    if let MemberOffset::Expression(die) = member.offset {
                        let _ = module.locate_member(die, LoadAddr(0x2000), &frame);
                    }
                }
            }
        };
        let scope: Option<&Scope> = function.as_ref().map(|function| &function.scope);
        scope
            .into_iter()
            .flat_map(|scope| &scope.variables)
            .for_each(locate);
    }
}
