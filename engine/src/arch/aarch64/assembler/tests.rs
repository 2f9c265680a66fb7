use super::*;

fn signed(bytes: u8) -> Size {
    Size {
        bytes,
        is_signed: true,
    }
}

fn unsigned(bytes: u8) -> Size {
    Size {
        bytes,
        is_signed: false,
    }
}

/// Emits instructions, and lists what each call emitted.
macro_rules! emitted {
    ($($call:ident($($operand:expr),*);)*) => {{
        let mut all = Vec::new();
        $({
            let mut asm = Assembler::default();
            let _ = asm.$call($($operand),*);
            all.push(asm.finish().expect("words"));
        })*
        all
    }};
}

/// The words are those of the GNU assembler.
#[test]
fn instructions_are_encoded_as_by_the_system_assembler() {
    let emitted = emitted! {
        add(X(1), X(2), X(3));
        sub(X(1), X(2), X(3));
        adds(X(1), X(2), X(3));
        subs(X(1), X(2), X(3));
        and(X(30), X(2), X(3));
        orr(X(1), X(2), X(3));
        eor(X(1), X(2), X(3));
        mul(X(1), X(2), X(3));
        smulh(X(1), X(2), X(3));
        umulh(X(1), X(2), X(3));
        udiv(X(1), X(2), X(3));
        sdiv(X(1), X(2), X(3));
        lsl(X(1), X(2), X(3));
        lsr(X(1), X(2), X(3));
        asr(X(1), X(2), X(3));
        fadd(V(1), V(2), V(3));
        fsub(V(1), V(2), V(3));
        fmul(V(1), V(2), V(3));
        fdiv(V(1), V(2), V(3));
        fmov(V(1), V(2));
        fmov_in(V(1), X(2));
        fmov_out(X(1), V(2));
        upper_out(X(1), V(2));
        fneg(V(1), V(2));
        narrow(V(1), V(2));
        widen(V(1), V(2));
        scvtf(V(1), X(2));
        ucvtf(V(1), X(2));
        fcvtzs(X(1), V(2));
        ldar(X(1), X(2));
        stlr(X(1), X(2));
        ldaxr(X(1), X(2));
        str_scalable(V(17), X(2));
        ldr_scalable(V(17), X(2));
        read_flags(X(3));
        write_flags(X(3));
        read_float_control(X(3));
        write_float_control(ZERO);
        read_float_status(X(3));
        write_float_status(X(3));
        read_thread_pointer(X(3));
        trap();
        number(X(1), 0);
        number(X(1), 0x1234);
        number(X(1), 0x1234_0000);
        number(X(1), u64::MAX);
        number(X(1), -2_i64 as u64);
        number(X(1), 0x5555_0000_1234);
        number(X(1), 0x1234_5678_9abc_def0);
        number(X(1), 0xffff_ffff_1234_ffff);
        number(X(1), 0xffff_0001_1234_ffff);
        copy(X(1), SP);
        copy(X(1), X(2));
        add_number(X(1), SP, 4095);
        add_number(SP, SP, -48);
        add_number(X(1), X(2), 0x12345);
        add_number(X(1), X(2), -0x12000);
        add_number(X(1), X(2), 0);
        adds_number(X(1), X(2), 4095);
        subs_number(X(1), X(2), 4095);
        compare(X(1), X(2));
        compare_number(X(1), 7);
        compare_number(X(1), -7_i64 as u64);
        compare_sign(X(1), X(2));
        compare_floats(V(1), V(2));
        add_shifted(X(1), SP, X(2), 3);
        add_shifted(X(1), X(4), X(2), 4);
        msub(X(1), X(2), X(3), X(4));
        extract(X(1), X(2), (8, 16), false);
        extract(X(1), X(2), (0, 32), true);
        shift_left(X(1), X(2), 5);
        shift_left(X(1), X(2), 0);
        shift_right(X(1), X(2), 5, true);
        shift_right(X(1), X(2), 63, false);
        select(X(1), X(2), X(3), Flag::Above);
        set_if(X(1), Flag::SignedAtMost);
        load(X(1), SP, 32760, Size::WORD);
        load(X(1), X(2), -1, Size::WORD);
        load(X(1), X(2), 4, signed(4));
        load(X(1), X(2), 3, signed(1));
        load(X(1), X(2), 6, signed(2));
        load(X(1), X(2), 6, unsigned(2));
        load(X(1), X(2), -6, unsigned(4));
        load(X(1), X(2), 8, signed(8));
        store(X(1), X(2), 3, unsigned(1));
        store(X(1), X(2), 3, unsigned(4));
        store(X(1), X(2), 16, unsigned(8));
        load_float(V(1), X(2), 8, false);
        load_float(V(1), X(2), -8, true);
        store_float(V(1), X(2), 8, true);
        store_float(V(1), X(2), 8, false);
        load_indexed(X(1), X(2), X(3), unsigned(2));
        load_indexed(X(1), X(2), X(3), signed(1));
        store_indexed(X(1), X(2), X(3), unsigned(4));
        store_pair((X(1), X(2)), SP, 48);
        load_pair((X(1), X(2)), SP, 504);
        store_vectors((V(16), V(17)), SP, 32);
        load_vectors((V(16), V(17)), SP, 32);
        stlxr(X(1), X(2), X(3));
        ldaddal(X(1), X(2), X(3));
    };
    let expected: &[&[u32]] = &[
        // add x1,x2,x3
        &[0x8b03_0041],
        // sub x1,x2,x3
        &[0xcb03_0041],
        // adds x1,x2,x3
        &[0xab03_0041],
        // subs x1,x2,x3
        &[0xeb03_0041],
        // and x30,x2,x3
        &[0x8a03_005e],
        // orr x1,x2,x3
        &[0xaa03_0041],
        // eor x1,x2,x3
        &[0xca03_0041],
        // mul x1,x2,x3
        &[0x9b03_7c41],
        // smulh x1,x2,x3
        &[0x9b43_7c41],
        // umulh x1,x2,x3
        &[0x9bc3_7c41],
        // udiv x1,x2,x3
        &[0x9ac3_0841],
        // sdiv x1,x2,x3
        &[0x9ac3_0c41],
        // lsl x1,x2,x3
        &[0x9ac3_2041],
        // lsr x1,x2,x3
        &[0x9ac3_2441],
        // asr x1,x2,x3
        &[0x9ac3_2841],
        // fadd d1,d2,d3
        &[0x1e63_2841],
        // fsub d1,d2,d3
        &[0x1e63_3841],
        // fmul d1,d2,d3
        &[0x1e63_0841],
        // fdiv d1,d2,d3
        &[0x1e63_1841],
        // fmov d1,d2
        &[0x1e60_4041],
        // fmov d1,x2
        &[0x9e67_0041],
        // fmov x1,d2
        &[0x9e66_0041],
        // mov x1,v2.d[1]
        &[0x4e18_3c41],
        // fneg d1,d2
        &[0x1e61_4041],
        // fcvt s1,d2
        &[0x1e62_4041],
        // fcvt d1,s2
        &[0x1e22_c041],
        // scvtf d1,x2
        &[0x9e62_0041],
        // ucvtf d1,x2
        &[0x9e63_0041],
        // fcvtzs x1,d2
        &[0x9e78_0041],
        // ldar x1,[x2]
        &[0xc8df_fc41],
        // stlr x1,[x2]
        &[0xc89f_fc41],
        // ldaxr x1,[x2]
        &[0xc85f_fc41],
        // str z17,[x2]
        &[0xe580_4051],
        // ldr z17,[x2]
        &[0x8580_4051],
        // mrs x3,nzcv
        &[0xd53b_4203],
        // msr nzcv,x3
        &[0xd51b_4203],
        // mrs x3,fpcr
        &[0xd53b_4403],
        // msr fpcr,xzr
        &[0xd51b_441f],
        // mrs x3,fpsr
        &[0xd53b_4423],
        // msr fpsr,x3
        &[0xd51b_4423],
        // mrs x3,tpidr_el0
        &[0xd53b_d043],
        // brk #0
        &[0xd420_0000],
        // mov x1,#0
        &[0xd280_0001],
        // movz x1,#0x1234
        &[0xd282_4681],
        // movz x1,#0x1234,lsl #16
        &[0xd2a2_4681],
        // movn x1,#0
        &[0x9280_0001],
        // movn x1,#1
        &[0x9280_0021],
        // movz x1,#0x1234; movk x1,#0x5555,lsl #32
        &[0xd282_4681, 0xf2ca_aaa1],
        // movz x1,#0xdef0; movk x1,#0x9abc,lsl #16; movk x1,#0x5678,lsl #32; movk x1,#0x1234,lsl #48
        &[0xd29b_de01, 0xf2b3_5781, 0xf2ca_cf01, 0xf2e2_4681],
        // movn x1,#0xedcb,lsl #16
        &[0x92bd_b961],
        // movn x1,#0xedcb,lsl #16; movk x1,#1,lsl #32
        &[0x92bd_b961, 0xf2c0_0021],
        // mov x1,sp
        &[0x9100_03e1],
        // mov x1,x2
        &[0xaa02_03e1],
        // add x1,sp,#4095
        &[0x913f_ffe1],
        // sub sp,sp,#48
        &[0xd100_c3ff],
        // add x1,x2,#0x12,lsl #12; add x1,x1,#0x345
        &[0x9140_4841, 0x910d_1421],
        // sub x1,x2,#0x12,lsl #12
        &[0xd140_4841],
        // add x1,x2,#0
        &[0x9100_0041],
        // adds x1,x2,#4095
        &[0xb13f_fc41],
        // subs x1,x2,#4095
        &[0xf13f_fc41],
        // cmp x1,x2
        &[0xeb02_003f],
        // cmp x1,#7
        &[0xf100_1c3f],
        // cmn x1,#7
        &[0xb100_1c3f],
        // cmp x1,x2,asr #63
        &[0xeb82_fc3f],
        // fcmp d1,d2
        &[0x1e62_2020],
        // add x1,sp,x2,lsl #3
        &[0x8b22_6fe1],
        // add x1,x4,x2,uxtx #4
        &[0x8b22_7081],
        // msub x1,x2,x3,x4
        &[0x9b03_9041],
        // ubfx x1,x2,#8,#16
        &[0xd348_5c41],
        // sxtw x1,w2
        &[0x9340_7c41],
        // lsl x1,x2,#5
        &[0xd37b_e841],
        // lsl x1,x2,#0
        &[0xd340_fc41],
        // asr x1,x2,#5
        &[0x9345_fc41],
        // lsr x1,x2,#63
        &[0xd37f_fc41],
        // csel x1,x2,x3,hi
        &[0x9a83_8041],
        // cset x1,le
        &[0x9a9f_c7e1],
        // ldr x1,[sp,#32760]
        &[0xf97f_ffe1],
        // ldur x1,[x2,#-1]
        &[0xf85f_f041],
        // ldrsw x1,[x2,#4]
        &[0xb980_0441],
        // ldrsb x1,[x2,#3]
        &[0x3980_0c41],
        // ldrsh x1,[x2,#6]
        &[0x7980_0c41],
        // ldrh w1,[x2,#6]
        &[0x7940_0c41],
        // ldur w1,[x2,#-6]
        &[0xb85f_a041],
        // ldr x1,[x2,#8]
        &[0xf940_0441],
        // strb w1,[x2,#3]
        &[0x3900_0c41],
        // stur w1,[x2,#3]
        &[0xb800_3041],
        // str x1,[x2,#16]
        &[0xf900_0841],
        // ldr d1,[x2,#8]
        &[0xfd40_0441],
        // ldur s1,[x2,#-8]
        &[0xbc5f_8041],
        // str s1,[x2,#8]
        &[0xbd00_0841],
        // str d1,[x2,#8]
        &[0xfd00_0441],
        // ldrh w1,[x2,x3]
        &[0x7863_6841],
        // ldrsb x1,[x2,x3]
        &[0x38a3_6841],
        // str w1,[x2,x3]
        &[0xb823_6841],
        // stp x1,x2,[sp,#48]
        &[0xa903_0be1],
        // ldp x1,x2,[sp,#504]
        &[0xa95f_8be1],
        // stp q16,q17,[sp,#32]
        &[0xad01_47f0],
        // ldp q16,q17,[sp,#32]
        &[0xad41_47f0],
        // stlxr w1,x2,[x3]
        &[0xc801_fc62],
        // ldaddal x1,x2,[x3]
        &[0xf8e1_0062],
    ];
    assert_eq!(emitted.len(), expected.len());
    for (emitted, expected) in emitted.iter().zip(expected) {
        assert_eq!(emitted, expected, "{emitted:x?} {expected:x?}");
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let mut asm = Assembler::default();
    assert!(!asm.add_number(X(1), X(2), 1 << 24));
    assert!(!asm.adds_number(X(1), X(2), 4096));
    assert!(!asm.compare_number(X(1), 4096));
    assert!(!asm.load(X(1), X(2), 32768, Size::WORD));
    assert!(!asm.load(X(1), X(2), -257, Size::WORD));
    assert!(!asm.store(X(1), X(2), 257, Size::WORD));
    assert_eq!(asm.len(), 0);
}

#[test]
fn pairs_out_of_reach_are_refused() {
    for (offset, fits) in [(504, true), (512, false), (4, false)] {
        let mut asm = Assembler::default();
        asm.store_pair((X(1), X(2)), X(3), offset);
        assert_eq!(asm.finish().is_some(), fits, "{offset}");
    }
}

#[test]
fn branches_lead_to_their_labels() {
    let mut asm = Assembler::default();
    let (before, behind) = (asm.label(), asm.label());
    asm.place(before);
    asm.jump(behind);
    asm.jump_if(Flag::Below, before);
    asm.jump_unless(Flag::Below, behind);
    asm.jump_if_zero(X(3), before);
    asm.jump_unless_zero(X(3), behind);
    asm.place(behind);
    let expected = [
        0x1400_0005,
        0x54ff_ffe3,
        0x5400_0062,
        0xb4ff_ffa3,
        0xb500_0023,
    ];
    assert_eq!(asm.finish().expect("words"), expected);
    let mut asm = Assembler::default();
    let missing = asm.label();
    asm.jump(missing);
    assert_eq!(asm.finish(), None);
}
