//! Types. Each is parsed on demand and refers to others by [`TypeId`].

mod fn_items;
mod read;
pub(crate) mod read_composite;
mod swift;

use crate::ids::DieRef;
use std::any::Any;
use std::sync::{Arc, OnceLock};
pub use swift::SwiftType;

/// A type of one module, by its debug info entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub DieRef);

/// One type.
#[derive(Clone, Debug)]
pub struct Type {
    /// The type's own id.
    pub id: TypeId,
    /// Qualified name for display; empty for unnamed types. Derived types (pointers, arrays,
    /// qualified types) of C and C++ have none: the language spells them. In Rust the compiler
    /// names pointers, too (`&str`, `*const T`).
    pub name: String,
    /// Size in bytes, if known.
    pub size: Option<u64>,
    /// The kind of type.
    pub kind: TypeKind,
    pub(crate) extension: ExtensionSlot,
}

impl Type {
    /// Returns the data that the reader of the type memoizes with it, created empty on first use;
    /// `None` if data of another Rust type is there already.
    pub fn extension<T: Any + Default + Send + Sync>(&self) -> Option<&T> {
        let extension = self.extension.0.get_or_init(|| Arc::new(T::default()));
        extension.downcast_ref()
    }
}

#[derive(Clone, Default)]
pub(crate) struct ExtensionSlot(OnceLock<Arc<dyn Any + Send + Sync>>);

impl std::fmt::Debug for ExtensionSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

/// The kind of a type.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// Integers, floats, characters, booleans.
    Base(BaseType),
    /// `DW_TAG_pointer_type`; without target `void *`.
    Pointer(Option<TypeId>),
    /// C++ `&`.
    Reference(TypeId),
    /// C++ `&&`.
    RvalueReference(TypeId),
    /// Array or vector.
    Array(ArrayType),
    /// Struct, class, union (and Rust's enums and tuples).
    Composite(Box<Composite>),
    /// Enumeration without data.
    Enumeration(Enumeration),
    /// `typedef`, `using`; without target void.
    Typedef(Option<TypeId>),
    /// `const`; without target `const void`.
    Const(Option<TypeId>),
    /// `volatile`.
    Volatile(Option<TypeId>),
    /// `restrict`.
    Restrict(Option<TypeId>),
    /// `_Atomic`.
    Atomic(Option<TypeId>),
    /// A function type.
    Subroutine(Subroutine),
    /// C++ pointer to member.
    PointerToMember {
        /// The class that it is a member of.
        class: Option<TypeId>,
        /// Type of the member; a subroutine for member functions.
        member: TypeId,
    },
    /// `DW_TAG_unspecified_type`: `nullptr_t`, Rust's `!` and others.
    Unspecified,
}

/// A base type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BaseType {
    /// The interpretation of its bytes.
    pub encoding: Encoding,
    /// Whether its bytes are in the order that is not the machine's (`DW_AT_endianity`).
    pub is_reversed: bool,
}

/// `DW_ATE_*`, those that C, C++ and Rust use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// Boolean.
    Boolean,
    /// Signed integer.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// `char` and `signed char`.
    SignedChar,
    /// `unsigned char`.
    UnsignedChar,
    /// `char8_t`, `char16_t`, `char32_t`, Rust's `char`.
    Utf,
    /// IEEE 754, or x87 depending on the size.
    Float,
    /// Two floats: a complex number.
    ComplexFloat,
    /// Two integers: a complex number (`DW_ATE_lo_user` of gcc and clang).
    ComplexInteger,
    /// A decimal float (IEEE 754).
    DecimalFloat,
    /// An address.
    Address,
    /// Another encoding, by its number.
    Other(u8),
}

/// An array of C, C++ or Rust.
#[derive(Clone, Debug)]
pub struct ArrayType {
    /// Type of the innermost elements.
    pub element: TypeId,
    /// Number of elements per dimension, outermost first; `None` if not recorded (`extern int a[]`,
    /// flexible members, variable-length arrays).
    pub counts: Vec<Option<u64>>,
    /// Whether a count is computed in a frame (variable-length arrays): see `Module::array_counts`.
    pub is_dynamic: bool,
    /// Distance between elements in bytes, if it differs from the element's size.
    pub stride: Option<u64>,
    /// Whether it is a SIMD vector (`DW_AT_GNU_vector`).
    pub vector: bool,
}

/// The keyword of a composite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompositeKind {
    /// `struct`.
    Struct,
    /// `class`.
    Class,
    /// `union`.
    Union,
}

/// Struct, class or union.
#[derive(Clone, Debug)]
pub struct Composite {
    /// Its keyword.
    pub kind: CompositeKind,
    /// Direct bases, in order of declaration.
    pub bases: Vec<Inheritance>,
    /// Data members in order of declaration, without static ones.
    pub members: Vec<Member>,
    /// Static data members.
    pub statics: Vec<Member>,
    /// Rust enums: the variants and their discriminant.
    pub variants: Option<VariantPart>,
    /// Template type arguments by parameter name; a type of `None` is `void`.
    pub template_types: Vec<(String, Option<TypeId>)>,
    /// Whether it is only declared here; see `Module::complete_type`.
    pub declaration: bool,
    /// Whether it has a vtable pointer (`DW_AT_containing_type`, or a member `_vptr…`).
    pub polymorphic: bool,
    /// Whether values are passed and returned by the address of a copy, whatever their size:
    /// `DW_AT_calling_convention` (DWARF 5 §5.7.1), else a copy constructor or destructor of its
    /// own (then those of a member may still require it). `None` if the compiler did not record it.
    pub by_address: Option<bool>,
    /// Whether it is the class of a C++ lambda, which has no name but can be called.
    pub closure: bool,
    /// Whether it is a class of Objective-C (`DW_AT_APPLE_runtime_class`).
    pub is_objc_class: bool,
    /// The mangled name, if it is a type of Swift: see [`SwiftType::parse`].
    pub swift_name: Option<&'static str>,
}

/// A base class.
#[derive(Clone, Debug)]
pub struct Inheritance {
    /// The base's type.
    pub ty: TypeId,
    /// Its offset in the object.
    pub offset: MemberOffset,
    /// Whether it is a `virtual` base.
    pub is_virtual: bool,
    /// Whether it is a `public` base.
    pub is_public: bool,
}

/// The offset of a member or base in its object.
#[derive(Clone, Debug)]
pub enum MemberOffset {
    /// Bytes from the object's start.
    Bytes(u64),
    /// A DWARF expression that computes the member's address from the object's (virtual bases): see
    /// `Module::locate_member`.
    Expression(DieRef),
    /// Decided when the program starts, for a class of Objective-C whose bases may have grown: the
    /// runtime's list of instance variables has it.
    AtRuntime,
}

/// A data member.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name; empty for anonymous structs and unions. Rust tuples: `__0`, `__1`, ….
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Its offset in the object.
    pub offset: MemberOffset,
    /// Position and width, for a bit-field.
    pub bits: Option<Bitfield>,
    /// Whether the compiler generated it (`_vptr`, …).
    pub artificial: bool,
    /// Its debug info entry.
    pub id: DieRef,
}

/// The position of a bit-field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bitfield {
    /// Offset in bits from the start of the object, least significant first (DWARF 4
    /// `data_bit_offset`; the older big-endian form is converted).
    pub offset: u64,
    /// Width in bits.
    pub size: u64,
}

/// The variants of a Rust enum (`DW_TAG_variant_part`).
#[derive(Clone, Debug)]
pub struct VariantPart {
    /// The discriminant; `None` for a single variant.
    pub discriminant: Option<Member>,
    /// The variants in order of declaration.
    pub variants: Vec<Variant>,
}

/// A variant (`DW_TAG_variant`).
#[derive(Clone, Debug)]
pub struct Variant {
    /// Inclusive ranges of the discriminant's value (sign- or zero-extended like its type); empty
    /// for the default variant.
    pub values: Vec<(i128, i128)>,
    /// Its members; rustc emits exactly one, named like the variant.
    pub members: Vec<Member>,
    /// The line of its first member: for a coroutine, the line of the suspension point.
    pub line: Option<u32>,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// The underlying integer type, if recorded.
    pub underlying: Option<TypeId>,
    /// Whether values are signed.
    pub signed: bool,
    /// Whether it is an `enum class`.
    pub scoped: bool,
    /// Names and values, in order of declaration.
    pub enumerators: Vec<Enumerator>,
}

/// An enumerator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enumerator {
    /// The name.
    pub name: String,
    /// Its value.
    pub value: i128,
}

/// A function type.
#[derive(Clone, Debug)]
pub struct Subroutine {
    /// Return type; `None` is void.
    pub return_type: Option<TypeId>,
    /// Parameter types.
    pub parameters: Vec<TypeId>,
    /// Whether it takes variable arguments.
    pub variadic: bool,
}
