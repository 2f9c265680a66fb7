//! The numbers and layouts that this folder declares, compared with Apple's public headers: a C
//! compiler that has them checks an assertion for each. What no public header has (`csops`, the
//! flag of `posix_spawn` for addresses) is not checked.

use super::declared::{self, kinfo_proc, thread_extended_info, thread_identifier_info};
use super::flavors::{self, Flavor, behavior, code, kind};
use super::mach::{KernReturn, protection};
use super::message::{self, kernel};
use std::mem::offset_of;
use std::path::PathBuf;
use std::process::Command;

/// An expression of C, and the value that it has here.
struct Fact(String, i128);

fn fact(c: &str, value: impl TryInto<i128>) -> Fact {
    let Ok(value) = value.try_into() else {
        panic!("{c}: a number")
    };
    Fact(c.to_owned(), value)
}

/// The facts of constants, whose names in C end as they do here.
macro_rules! constants {
    ($prefix:literal, $module:path, $($name:ident),+ $(,)?) => {{
        use $module as m;
        vec![$(fact(concat!($prefix, stringify!($name)), m::$name)),+]
    }};
}

/// The size of a structure, and the offsets of its fields.
macro_rules! structure {
    ($type:ty, $c:literal, $($field:ident = $path:literal),+ $(,)?) => {
        vec![
            fact(concat!("sizeof(", $c, ")"), size_of::<$type>()),
            $(fact(concat!("offsetof(", $c, ", ", $path, ")"), offset_of!($type, $field))),+
        ]
    };
}

/// The facts of a flavor.
fn flavor(name: &str, flavor: Flavor) -> [Fact; 2] {
    [
        fact(name, flavor.number),
        fact(&format!("{name}_COUNT"), flavor.words),
    ]
}

/// The offset of a field in a state.
fn offset(state: &str, field: &str, at: usize) -> Fact {
    fact(&format!("offsetof({state}, {field})"), at)
}

/// What is the same on both machines.
fn of_both() -> Vec<Fact> {
    let mut facts = constants!(
        "EXC_",
        kind,
        BAD_ACCESS,
        BAD_INSTRUCTION,
        ARITHMETIC,
        EMULATION,
        SOFTWARE,
        BREAKPOINT,
        SYSCALL,
        MACH_SYSCALL,
        RPC_ALERT,
        CRASH,
        RESOURCE,
        GUARD,
        CORPSE_NOTIFY,
    );
    facts.extend([
        fact("EXC_TYPES_COUNT", kind::COUNT),
        fact(
            "EXC_MASK_BAD_ACCESS | EXC_MASK_BAD_INSTRUCTION | EXC_MASK_ARITHMETIC \
             | EXC_MASK_EMULATION | EXC_MASK_SOFTWARE | EXC_MASK_BREAKPOINT",
            kind::OF_USER_CODE,
        ),
        fact("EXCEPTION_DEFAULT", behavior::DEFAULT),
        fact("(int)MACH_EXCEPTION_CODES", behavior::MACH_EXCEPTION_CODES),
        fact("EXC_SOFT_SIGNAL", code::SOFT_SIGNAL),
        fact("KERN_INVALID_ADDRESS", code::INVALID_ADDRESS),
        fact("KERN_PROTECTION_FAILURE", code::PROTECTION_FAILURE),
        fact("MACH_SEND_INVALID_DEST", KernReturn::SEND_INVALID_DEST.0),
    ]);
    facts.extend(
        [
            ("SUCCESS", KernReturn::SUCCESS),
            ("INVALID_ADDRESS", KernReturn::INVALID_ADDRESS),
            ("PROTECTION_FAILURE", KernReturn::PROTECTION_FAILURE),
            ("INVALID_ARGUMENT", KernReturn::INVALID_ARGUMENT),
            ("FAILURE", KernReturn::FAILURE),
            ("RESOURCE_SHORTAGE", KernReturn::RESOURCE_SHORTAGE),
            ("INVALID_NAME", KernReturn::INVALID_NAME),
            ("TERMINATED", KernReturn::TERMINATED),
        ]
        .map(|(name, code)| fact(&format!("KERN_{name}"), code.0)),
    );
    facts.extend(constants!(
        "VM_PROT_", protection, READ, WRITE, EXECUTE, COPY
    ));
    facts.extend(constants!(
        "",
        declared,
        THREAD_IDENTIFIER_INFO,
        THREAD_EXTENDED_INFO,
        THREAD_CONVERT_THREAD_STATE_TO_SELF,
        THREAD_CONVERT_THREAD_STATE_FROM_SELF,
        POSIX_SPAWN_SETSID,
        P_TRACED,
        P_TRANSLATED,
        SZOMB,
    ));
    facts.extend(structure!(
        thread_identifier_info,
        "struct thread_identifier_info",
        thread_id = "thread_id",
        thread_handle = "thread_handle",
        dispatch_qaddr = "dispatch_qaddr",
    ));
    facts.extend(structure!(
        thread_extended_info,
        "struct thread_extended_info",
        pth_user_time = "pth_user_time",
        pth_flags = "pth_flags",
        pth_maxpriority = "pth_maxpriority",
        pth_name = "pth_name",
    ));
    facts.extend(structure!(
        kinfo_proc,
        "struct kinfo_proc",
        p_flag = "kp_proc.p_flag",
        p_stat = "kp_proc.p_stat",
        p_pid = "kp_proc.p_pid",
        p_comm = "kp_proc.p_comm",
        e_ppid = "kp_eproc.e_ppid",
    ));
    facts.extend(of_messages());
    facts
}

/// The messages. No public header has those of exceptions with codes of 64 bits, which the
/// interface's definition (`mach_exc.defs`) would generate; `HEAD` declares them of the types that
/// the generator uses.
fn of_messages() -> Vec<Fact> {
    let (request, reply) = ("struct raise", "struct raise_reply");
    let dead_name = "mach_dead_name_notification_t";
    vec![
        offset(request, "head.msgh_bits", message::BITS),
        offset(request, "head.msgh_size", message::SIZE),
        offset(request, "head.msgh_remote_port", message::REMOTE),
        offset(request, "head.msgh_id", message::ID),
        offset(request, "body", message::HEADER_BYTES),
        offset(request, "thread.name", message::THREAD),
        offset(request, "task.name", message::TASK),
        offset(request, "ndr", message::NDR),
        fact("sizeof(NDR_record_t)", message::NDR_BYTES),
        offset(request, "exception", message::KIND),
        offset(request, "count", message::CODE_COUNT),
        offset(request, "codes", message::CODES),
        fact(&format!("sizeof({request})"), message::EXCEPTION_BYTES),
        offset(reply, "ndr", message::HEADER_BYTES),
        offset(reply, "result", message::HEADER_BYTES + message::NDR_BYTES),
        fact(&format!("sizeof({reply})"), message::REPLY_BYTES),
        offset(dead_name, "not_port", message::DEAD_NAME),
        offset(dead_name, "trailer", message::DEAD_NAME_BYTES),
        fact("MACH_NOTIFY_DEAD_NAME", message::NOTIFY_DEAD_NAME),
        fact("MACH_MSGH_BITS_REMOTE_MASK", message::REMOTE_MASK),
        fact("MACH_MSGH_BITS_COMPLEX", 0x8000_0000_u32),
        fact("MACH_MSG_TYPE_MOVE_SEND_ONCE", kernel::MOVE_SEND_ONCE),
        offset("NDR_record_t", "int_rep", 4),
        fact("NDR_INT_LITTLE_ENDIAN", message::NDR_RECORD[4]),
        fact("NDR_CHAR_ASCII", message::NDR_RECORD[5]),
        fact("NDR_FLOAT_IEEE", message::NDR_RECORD[6]),
    ]
}

const HEAD: &str = "
#include <stddef.h>
#include <mach/mach.h>
#include <mach/ndr.h>
#include <mach/notify.h>
#include <mach/thread_info.h>
#include <mach/thread_status.h>
#include <spawn.h>
#include <sys/proc.h>
#include <sys/sysctl.h>
#pragma pack(push, 4)
struct raise {
    mach_msg_header_t head;
    mach_msg_body_t body;
    mach_msg_port_descriptor_t thread, task;
    NDR_record_t ndr;
    exception_type_t exception;
    mach_msg_type_number_t count;
    mach_exception_data_type_t codes[2];
};
struct raise_reply {
    mach_msg_header_t head;
    NDR_record_t ndr;
    kern_return_t result;
};
#pragma pack(pop)
";

fn of_x86_64() -> Vec<Fact> {
    use flavors::x86_64::{self as machine, avx, debug, exception, float, thread};
    let mut facts = vec![fact("THREAD_STATE_NONE", machine::THREAD_STATE_NONE)];
    for (name, state) in [
        ("x86_THREAD_STATE64", machine::THREAD_STATE64),
        ("x86_FLOAT_STATE64", machine::FLOAT_STATE64),
        ("x86_EXCEPTION_STATE64", machine::EXCEPTION_STATE64),
        ("x86_DEBUG_STATE64", machine::DEBUG_STATE64),
        ("x86_AVX_STATE64", machine::AVX_STATE64),
        ("x86_AVX512_STATE64", machine::AVX512_STATE64),
        ("x86_THREAD_FULL_STATE64", machine::THREAD_FULL_STATE64),
    ] {
        facts.extend(flavor(name, state));
    }
    let state = "x86_thread_state64_t";
    for (field, at) in [
        ("__rax", thread::RAX),
        ("__rbx", thread::RBX),
        ("__rcx", thread::RCX),
        ("__rdx", thread::RDX),
        ("__rdi", thread::RDI),
        ("__rsi", thread::RSI),
        ("__rbp", thread::RBP),
        ("__rsp", thread::RSP),
        ("__r8", thread::R8),
        ("__r15", thread::R8 + 7 * 8),
        ("__rip", thread::RIP),
        ("__rflags", thread::RFLAGS),
        ("__cs", thread::CS),
        ("__fs", thread::FS),
        ("__gs", thread::GS),
    ] {
        facts.push(offset(state, field, at));
    }
    let state = "x86_thread_full_state64_t";
    for (field, at) in [
        ("__ss64", 0),
        ("__ds", thread::DS),
        ("__es", thread::ES),
        ("__ss", thread::SS),
        ("__gsbase", thread::GS_BASE),
    ] {
        facts.push(offset(state, field, at));
    }
    for state in [
        "x86_float_state64_t",
        "x86_avx_state64_t",
        "x86_avx512_state64_t",
    ] {
        for (field, at) in [
            ("__fpu_fcw", float::FXSAVE),
            ("__fpu_ftw", float::FTW),
            ("__fpu_mxcsr", float::MXCSR),
            ("__fpu_stmm0", float::STMM0),
            ("__fpu_stmm7", float::STMM0 + 7 * 16),
            ("__fpu_xmm0", float::XMM0),
            ("__fpu_xmm15", float::XMM0 + 15 * 16),
            ("__fpu_reserved1", float::FXSAVE + float::FXSAVE_BYTES),
        ] {
            facts.push(offset(state, field, at));
        }
    }
    for state in ["x86_avx_state64_t", "x86_avx512_state64_t"] {
        facts.push(offset(state, "__fpu_ymmh0", avx::YMM_HIGH));
        facts.push(offset(state, "__fpu_ymmh15", avx::YMM_HIGH + 15 * 16));
    }
    let state = "x86_avx512_state64_t";
    for (field, at) in [
        ("__fpu_k0", avx::K0),
        ("__fpu_k7", avx::K0 + 7 * 8),
        ("__fpu_zmmh0", avx::ZMM_HIGH),
        ("__fpu_zmmh15", avx::ZMM_HIGH + 15 * 32),
        ("__fpu_zmm16", avx::ZMM16),
        ("__fpu_zmm31", avx::ZMM16 + 15 * 64),
    ] {
        facts.push(offset(state, field, at));
    }
    let state = "x86_exception_state64_t";
    facts.push(offset(state, "__trapno", exception::TRAPNO));
    facts.push(offset(state, "__err", exception::ERR));
    facts.push(offset(state, "__faultvaddr", exception::FAULT_ADDRESS));
    let state = "x86_debug_state64_t";
    facts.push(offset(state, "__dr0", debug::DR0));
    facts.push(offset(state, "__dr6", debug::DR6));
    facts.push(offset(state, "__dr7", debug::DR7));
    facts.extend(constants!(
        "EXC_",
        code,
        I386_SGL,
        I386_BPT,
        I386_INVOP,
        I386_DIV,
        I386_EXTERR,
        I386_SSEEXTERR,
        I386_GPFLT,
    ));
    facts
}

fn of_arm64() -> Vec<Fact> {
    use flavors::arm64::{self as machine, debug, exception, neon, thread};
    let mut facts = vec![fact("THREAD_STATE_NONE", machine::THREAD_STATE_NONE)];
    for (name, state) in [
        ("ARM_THREAD_STATE64", machine::THREAD_STATE64),
        ("ARM_EXCEPTION_STATE64", machine::EXCEPTION_STATE64),
        ("ARM_DEBUG_STATE64", machine::DEBUG_STATE64),
        ("ARM_NEON_STATE64", machine::NEON_STATE64),
    ] {
        facts.extend(flavor(name, state));
    }
    let state = "arm_thread_state64_t";
    for (field, at) in [
        ("__x", thread::X0),
        ("__fp", thread::FP),
        ("__lr", thread::LR),
        ("__sp", thread::SP),
        ("__pc", thread::PC),
        ("__cpsr", thread::CPSR),
        ("__pad", thread::FLAGS),
    ] {
        facts.push(offset(state, field, at));
    }
    let state = "arm_neon_state64_t";
    for (field, at) in [
        ("__v", neon::V0),
        ("__fpsr", neon::FPSR),
        ("__fpcr", neon::FPCR),
    ] {
        facts.push(offset(state, field, at));
    }
    let state = "arm_exception_state64_t";
    for (field, at) in [
        ("__far", exception::FAR),
        ("__esr", exception::ESR),
        ("__exception", exception::EXCEPTION),
    ] {
        facts.push(offset(state, field, at));
    }
    let state = "arm_debug_state64_t";
    for (field, at) in [
        ("__bvr", debug::BVR),
        ("__bcr", debug::BCR),
        ("__wvr", debug::WVR),
        ("__wcr", debug::WCR),
        ("__mdscr_el1", debug::MDSCR_EL1),
    ] {
        facts.push(offset(state, field, at));
    }
    facts.extend(constants!(
        "EXC_",
        code,
        ARM_BREAKPOINT,
        ARM_UNDEFINED,
        ARM_DA_ALIGN,
        ARM_DA_DEBUG,
        ARM_SP_ALIGN,
        ARM_PAC_FAIL,
        ARM_FP_IO,
        ARM_FP_DZ,
        ARM_FP_OF,
        ARM_FP_UF,
        ARM_FP_IX,
        ARM_FP_ID,
    ));
    facts
}

/// Returns Zig's compiler, whose headers are Apple's, where `tests/darwin.sh` installs it.
fn zig() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let zig = cache
        .or_else(home)?
        .join("stillpoint-darwin/zig/ziglang/zig");
    zig.is_file().then_some(zig)
}

#[test]
fn numbers_and_layouts_are_those_of_apples_headers() {
    let Some(zig) = zig() else {
        skips::skip("zig");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (target, own) in [("x86_64-macos", of_x86_64()), ("aarch64-macos", of_arm64())] {
        let mut source = HEAD.to_owned();
        let facts: Vec<_> = of_both().into_iter().chain(own).collect();
        assert!(facts.len() > 100, "{}", facts.len());
        for Fact(c, value) in &facts {
            source += &format!("_Static_assert(({c}) == {value}, \"here it is {value}\");\n");
        }
        let file = folder.path().join(format!("{target}.c"));
        std::fs::write(&file, source).unwrap();
        let result = Command::new(&zig)
            .args(["cc", "-c", "-target", target, "-o"])
            .args([file.with_extension("o"), file])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&result.stderr);
        assert!(result.status.success(), "{target}:\n{errors}");
    }
}
