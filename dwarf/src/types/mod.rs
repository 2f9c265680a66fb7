//! Types; each is parsed when it is asked for and refers to others by [`TypeId`].

pub(crate) mod read;

use crate::ids::DieRef;
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// A type of one module, by its debug info entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub DieRef);

/// One type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Which one.
    pub id: TypeId,
    /// Readable qualified name; empty for unnamed ones. Derived types (pointers, arrays,
    /// qualified ones) of C and C++ have none here: the language spells them.
    /// In Rust the compiler names pointers too (`&str`, `*const T`).
    pub name: String,
    /// Size in bytes, where known.
    pub size: Option<u64>,
    /// What it is.
    pub kind: TypeKind,
    pub(crate) kept: Kept,
}

impl Type {
    /// What the reader of the type has found out about it and wants to keep, empty at first;
    /// `None` if something else of another kind is kept already.
    pub fn kept<T: Any + Default + Send + Sync>(&self) -> Option<&T> {
        let kept = self.kept.0.get_or_init(|| Arc::new(T::default()));
        kept.downcast_ref()
    }
}

#[derive(Clone, Default)]
pub(crate) struct Kept(OnceLock<Arc<dyn Any + Send + Sync>>);

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

/// What a type is.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// Integers, floats, characters, booleans.
    Base(BaseType),
    /// `DW_TAG_pointer_type`; no target is `void *`.
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
    /// `typedef`, `using`; no target is void.
    Typedef(Option<TypeId>),
    /// `const`; no target is `const void`.
    Const(Option<TypeId>),
    /// `volatile`.
    Volatile(Option<TypeId>),
    /// `restrict`.
    Restrict(Option<TypeId>),
    /// `_Atomic`.
    Atomic(Option<TypeId>),
    /// A function type.
    Subroutine(Subroutine),
    /// C++ pointer to member; `class` is what it is a member of.
    PointerToMember {
        /// The class.
        class: Option<TypeId>,
        /// Type of the member, a subroutine for member functions.
        member: TypeId,
    },
    /// `DW_TAG_unspecified_type`: `nullptr_t`, Rust's `!` and others.
    Unspecified,
}

/// A base type's reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BaseType {
    /// How the bytes read.
    pub encoding: Encoding,
}

/// `DW_ATE_*`, as far as C, C++ and Rust use them.
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
    /// IEEE 754, x87 where the size says so.
    Float,
    /// Two floats.
    ComplexFloat,
    /// An address.
    Address,
    /// Another encoding, by its number.
    Other(u8),
}

/// Arrays of C, C++ and Rust.
#[derive(Clone, Debug)]
pub struct ArrayType {
    /// Type of the innermost elements.
    pub element: TypeId,
    /// Elements of each dimension, outermost first; `None`: the compiler does not say
    /// (`extern int a[]`, flexible members, variable-length arrays).
    pub counts: Vec<Option<u64>>,
    /// Distance between elements in bytes, where it is not the element's size.
    pub stride: Option<u64>,
    /// `DW_AT_GNU_vector`: a SIMD vector.
    pub vector: bool,
}

/// Which keyword made the composite.
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
    /// The keyword.
    pub kind: CompositeKind,
    /// Direct bases, in order.
    pub bases: Vec<Inheritance>,
    /// Data members in order, static ones apart.
    pub members: Vec<Member>,
    /// Static data members.
    pub statics: Vec<Member>,
    /// Rust enums: what depends on the discriminant.
    pub variants: Option<VariantPart>,
    /// Template type arguments, by parameter name; `None`: `void`.
    pub template_types: Vec<(String, Option<TypeId>)>,
    /// Only declared here; see `Module::complete_type`.
    pub declaration: bool,
    /// Has a vtable pointer (`DW_AT_containing_type`, or a member `_vptr…`).
    pub polymorphic: bool,
    /// Whether values are passed and returned by the address of a copy, whatever their size
    /// (`DW_AT_calling_convention`, DWARF 5 §5.7.1, or else a copy constructor or destructor of
    /// its own; then a part's may still make it so); `None` where the compiler does not say.
    pub by_address: Option<bool>,
    /// The class of a C++ lambda: it has no name, but can be called.
    pub closure: bool,
}

/// A base class.
#[derive(Clone, Debug)]
pub struct Inheritance {
    /// The base's type.
    pub ty: TypeId,
    /// Where it lies.
    pub offset: MemberOffset,
    /// `virtual` inheritance.
    pub is_virtual: bool,
}

/// Where a member or base lies in its object.
#[derive(Clone, Debug)]
pub enum MemberOffset {
    /// Bytes from the object's start.
    Bytes(u64),
    /// A DWARF expression that turns the object's address into the member's (virtual bases):
    /// see `Module::locate_member`.
    Expression(DieRef),
}

/// A data member.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name; empty for anonymous structs and unions. Rust tuples: `__0`, `__1`, ….
    pub name: String,
    /// Type.
    pub ty: TypeId,
    /// Where it lies.
    pub offset: MemberOffset,
    /// Present for bit fields.
    pub bits: Option<Bitfield>,
    /// Made by the compiler (`_vptr`, …).
    pub artificial: bool,
    /// The entry.
    pub id: DieRef,
}

/// A bit field's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bitfield {
    /// Bits from the start of the object, least significant first (DWARF 4
    /// `data_bit_offset`; the older big-endian form is converted).
    pub offset: u64,
    /// Width in bits.
    pub size: u64,
}

/// `DW_TAG_variant_part`.
#[derive(Clone, Debug)]
pub struct VariantPart {
    /// The discriminant; `None` for a single variant.
    pub discriminant: Option<Member>,
    /// The variants in order.
    pub variants: Vec<Variant>,
}

/// `DW_TAG_variant`.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Inclusive ranges of the discriminant's value (sign- or zero-extended as its type is);
    /// empty: the default variant.
    pub values: Vec<(i128, i128)>,
    /// Its members; rustc makes exactly one, named like the variant.
    pub members: Vec<Member>,
    /// The line that its first member says it is from: of a coroutine, where it waits.
    pub line: Option<u32>,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// The integer type below, where recorded.
    pub underlying: Option<TypeId>,
    /// Whether values are signed.
    pub signed: bool,
    /// `enum class`.
    pub scoped: bool,
    /// Names and values, in order.
    pub enumerators: Vec<Enumerator>,
}

/// A name of an enumeration.
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
    /// What it returns; `None` is void.
    pub return_type: Option<TypeId>,
    /// Parameter types.
    pub parameters: Vec<TypeId>,
    /// Takes further arguments.
    pub variadic: bool,
}
