//! Typical conditions compile to the instructions that a compiler would emit.

use super::machine::{At, Machine};
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use dwarf::Language;

fn machine() -> Machine {
    let int = || Ty::Builtin(Scalar::new(ScalarKind::Signed, 4), "int");
    let mut machine = Machine::new(Language::C);
    let mut add = |name: &str, ty: Ty, at: At| machine.variables.push((name.into(), ty, at));
    add("i", int(), At::Frame(-20));
    add("top", int(), At::Stack(16));
    add("argument", int(), At::Register(5));
    add("p", int().pointer(), At::Frame(-32));
    add(
        "c",
        Ty::Builtin(Scalar::new(ScalarKind::SignedChar, 1), "char"),
        At::Frame(-1),
    );
    machine
}

#[test]
fn comparisons_are_one_instruction() {
    let machine = machine();
    for (text, expected) in [
        ("i == 4999", "cmp dword ptr [rbp-14h],1387h"),
        ("4999 != i", "cmp dword ptr [rbp-14h],1387h"),
        ("top > 5", "cmp dword ptr [rsp+110h],5"),
        // A register that the code does not overwrite is used directly.
        ("argument < 3", "cmp edi,3"),
        ("c == 'x'", "cmp byte ptr [rbp-1],78h"),
        ("p == 0", "cmp qword ptr [rbp-20h],0"),
        ("!p", "cmp qword ptr [rbp-20h],0"),
    ] {
        let listing = machine.listing(text);
        assert_eq!(listing[0], expected, "{text}");
        assert_eq!(
            listing.len(),
            3,
            "{text}: a comparison and two jumps, {listing:?}"
        );
        let condition = machine.compiled(text).expect("it compiles");
        assert_eq!(condition.clobbers().count(), 0, "{text}");
        assert!(!condition.uses_vectors());
    }
}

/// For 64 bits the comparison determines the signedness, not the load.
#[test]
fn a_cast_to_the_other_sign() {
    let mut machine = machine();
    let unsigned = Ty::Builtin(Scalar::new(ScalarKind::Unsigned, 8), "unsigned long");
    let at = At::Frame(-64);
    machine.variables.push(("u".into(), unsigned, at));
    machine.set(at, u128::from(u64::MAX), 8);
    for (text, expected) in [
        ("(long)u <= 255", super::machine::Answer::Yes),
        ("u <= 255", super::machine::Answer::No),
        ("(unsigned long)(long)u > 255", super::machine::Answer::Yes),
    ] {
        assert_eq!(machine.check(text), Some(expected), "{text}");
    }
}

#[test]
fn pointers_are_guarded_before_they_are_followed() {
    let mut machine = machine();
    let listing = machine.listing("*p == 7");
    let read = listing.iter().position(|it| it == "cmp dword ptr [rsi],7");
    let guard = listing.iter().position(|it| it.starts_with("jne"));
    assert!(guard < read && guard.is_some(), "{listing:?}");
    for bad in [0, 0xffff, 0x7fff_ffff_ffff_ffff, u64::MAX, 0x8000_0001_0000] {
        machine.set(At::Frame(-32), u128::from(bad), 8);
        assert_eq!(
            machine.check("*p == 7"),
            Some(super::machine::Answer::Deopt),
            "{bad:#x}"
        );
    }
}
