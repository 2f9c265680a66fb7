// Debug info as Swift's compiler writes it: structs without members, whose mangled names say what they are.
// The variables are in fixture_swift.c.
    .section .debug_abbrev,"",@progbits
    .uleb128 1, 0x11                    // compile unit
    .byte 1
    .uleb128 0x13, 0x05, 0x03, 0x08, 0, 0
    .uleb128 2, 0x13                    // structure: name, linkage name, size, runtime class
    .byte 0
    .uleb128 0x03, 0x08, 0x6e, 0x08, 0x0b, 0x0b, 0x3fe6, 0x05, 0, 0
    .uleb128 3, 0x34                    // variable: name, type, external, location
    .byte 0
    .uleb128 0x03, 0x08, 0x49, 0x13, 0x3f, 0x19, 0x02, 0x18, 0, 0
    .uleb128 4, 0x13                    // the same, with members and without a mangled name
    .byte 1
    .uleb128 0x03, 0x08, 0x6e, 0x08, 0x0b, 0x0b, 0x3fe6, 0x05, 0, 0
    .uleb128 5, 0x0d                    // member: name, type, offset
    .byte 0
    .uleb128 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0
    .uleb128 6, 0x13                    // structure: name, size, runtime class
    .byte 0
    .uleb128 0x03, 0x08, 0x0b, 0x0b, 0x3fe6, 0x05, 0, 0
    .byte 0

    .section .debug_info,"",@progbits
unit:
    .long end - version
version:
    .short 4
    .long .debug_abbrev
    .byte 8
    .uleb128 1
    .short 0x1e
    .asciz "main.swift"

// A type that has a name, one that has the mangled name only, and a variable.
.macro type label, name, mangled, size
\label:
    .uleb128 2
    .asciz "\name", "\mangled"
    .byte \size
    .short 0x1e
.endm
.macro nameless label, mangled, size
\label:
    .uleb128 6
    .asciz "\mangled"
    .byte \size
    .short 0x1e
.endm
.macro variable name, type
    .uleb128 3
    .asciz "\name"
    .long \type - unit
    .uleb128 9
    .byte 3
    .quad \name
.endm
    type int, "Int", "$sSiD", 8
    type bool, "Bool", "$sSbD", 1
    type double, "Double", "$sSdD", 8
    type float, "Float", "$sSfD", 4
    type byte, "UInt8", "$ss5UInt8VD", 1
    type string, "String", "$sSSD", 16
    type class, "Shop", "$s4main4ShopCD", 8
    type color, "Color", "$s4main5ColorOD", 1
    nameless ints, "$sSaySiGD", 8
    nameless strings, "$sSaySSGD", 8
    nameless maybe_int, "$sSiSgD", 9
    nameless maybe_bool, "$sSbSgD", 1
    nameless maybe_string, "$sSSSgD", 16
    nameless maybe_class, "$s4main4ShopCSgD", 8
    nameless tuple, "$sSi_SftD", 12
point:
    .uleb128 4
    .asciz "Point", "$s4main5PointVD"
    .byte 16
    .short 0x1e
    .uleb128 5
    .asciz "x"
    .long int - unit
    .byte 0
    .uleb128 5
    .asciz "y"
    .long double - unit
    .byte 8
    .byte 0
    variable an_int, int
    variable a_bool, bool
    variable a_double, double
    variable a_float, float
    variable a_byte, byte
    variable small, string
    variable small_utf8, string
    variable native, string
    variable bridged, string
    variable wild, string
    variable object, class
    variable color_of, color
    variable numbers, ints
    variable no_numbers, ints
    variable kept_numbers, ints
    variable words, strings
    variable some_int, maybe_int
    variable no_int, maybe_int
    variable some_bool, maybe_bool
    variable no_bool, maybe_bool
    variable some_string, maybe_string
    variable no_string, maybe_string
    variable some_object, maybe_class
    variable no_object, maybe_class
    variable pair, tuple
    variable a_point, point
    .byte 0
end:
    .section .note.GNU-stack,"",@progbits
