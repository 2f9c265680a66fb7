//! Reads types from their entries.

use crate::entries::children::Children;
use crate::entries::constant::{has_dynamic_bound, integer, subrange_count, udata};
use crate::entries::units::{Entry, MAX_HOPS, Unit, Value, flag};
use crate::file::demangle::swift_name;
use crate::file::swift::Shown;
use crate::ids::error::Error;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::types::fn_items;
use crate::types::read_composite::is_language;
use crate::types::swift::SwiftType;
use crate::types::{
    ArrayType, BaseType, Encoding, Enumeration, Enumerator, ExtensionSlot, Subroutine, Type,
    TypeId, TypeKind,
};

/// Maximum number of types to follow for a size; more is a cycle.
const MAX_DEPTH: u32 = 32;

impl DebugInfo {
    pub(crate) fn read_type(&self, id: TypeId) -> Result<Type, Error> {
        let (mut unit, mut entry) = self.entry(id.0)?;
        // A type in a type unit (DWARF 5 §3.1.4) is declared here by its signature.
        if let Some(definition) = entry
            .attr_value(gimli::DW_AT_signature)
            .and_then(|value| self.reference(unit, value))
        {
            (unit, entry) = self.entry(definition)?;
        }
        let target = self
            .inherited_reference(unit, &entry, gimli::DW_AT_type)
            .map(TypeId);
        let needed = || target.ok_or_else(|| Error::Corrupt("a type without its target".into()));
        let kind = match entry.tag() {
            gimli::DW_TAG_base_type => TypeKind::Base(BaseType {
                encoding: encoding(&entry),
                is_reversed: is_big_endian(&entry),
            }),
            gimli::DW_TAG_pointer_type if self.is_fn_item(unit, &entry) => fn_items::kind(),
            gimli::DW_TAG_pointer_type => TypeKind::Pointer(target),
            gimli::DW_TAG_reference_type => TypeKind::Reference(needed()?),
            gimli::DW_TAG_rvalue_reference_type => TypeKind::RvalueReference(needed()?),
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_template_alias
            | gimli::DW_TAG_subrange_type
            | gimli::DW_TAG_packed_type
            | gimli::DW_TAG_shared_type => TypeKind::Typedef(target),
            gimli::DW_TAG_const_type | gimli::DW_TAG_immutable_type => TypeKind::Const(target),
            gimli::DW_TAG_volatile_type => TypeKind::Volatile(target),
            gimli::DW_TAG_restrict_type => TypeKind::Restrict(target),
            gimli::DW_TAG_atomic_type => TypeKind::Atomic(target),
            gimli::DW_TAG_array_type => {
                TypeKind::Array(self.read_array(unit, &entry, needed()?)?)
            }
            gimli::DW_TAG_structure_type
                if let Some(SwiftType::Scalar(name, encoding, size)) =
                    self.swift_name(unit, &entry).and_then(SwiftType::parse) =>
            {
                // An opaque struct, of which its name says everything.
                return Ok(Type {
                    id,
                    name: name.to_owned(),
                    size: Some(u64::from(size)),
                    kind: TypeKind::Base(BaseType {
                        encoding,
                        is_reversed: false,
                    }),
                    extension: ExtensionSlot::default(),
                });
            }
            gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_interface_type
            | gimli::DW_TAG_union_type => {
                TypeKind::Composite(Box::new(self.read_composite(unit, &entry)?))
            }
            gimli::DW_TAG_enumeration_type => {
                TypeKind::Enumeration(self.read_enumeration(unit, &entry, target)?)
            }
            gimli::DW_TAG_subroutine_type | gimli::DW_TAG_subprogram => {
                TypeKind::Subroutine(self.read_subroutine(unit, &entry, target)?)
            }
            gimli::DW_TAG_ptr_to_member_type => TypeKind::PointerToMember {
                class: entry
                    .attr_value(gimli::DW_AT_containing_type)
                    .and_then(|value| self.reference(unit, value))
                    .map(TypeId),
                member: needed()?,
            },
            gimli::DW_TAG_unspecified_type => TypeKind::Unspecified,
            tag => {
                return Err(Error::Unsupported(format!("a type of kind {tag}")));
            }
        };
        Ok(Type {
            id,
            name: self.type_name(unit, &entry),
            size: self.type_size(unit, &entry, 0),
            kind,
            extension: ExtensionSlot::default(),
        })
    }

    /// Returns the mangled name of a type of Swift. Types of generic ones and tuples have no other.
    pub(super) fn swift_name(&self, unit: &Unit, entry: &Entry) -> Option<&'static str> {
        let language = entry.attr_value(gimli::DW_AT_APPLE_runtime_class)?;
        if !is_language(language, &[gimli::DW_LANG_Swift]) {
            return None;
        }
        let own = || std::str::from_utf8(self.own_name(unit, entry)?).ok();
        let mangled = |name: &&str| name.starts_with("$s") || name.starts_with("$S");
        let linkage = self.linkage_name(unit, entry).filter(mangled);
        linkage.or_else(|| own().filter(mangled))
    }

    fn type_name(&self, unit: &Unit, entry: &Entry) -> String {
        let name = self.own_name(unit, entry);
        match entry.tag() {
            // Built-in names and rustc's names of pointers are complete.
            gimli::DW_TAG_base_type
            | gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_unspecified_type
            | gimli::DW_TAG_reference_type => name
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .unwrap_or_default(),
            gimli::DW_TAG_subprogram => String::new(),
            gimli::DW_TAG_structure_type
                if let Some(swift) = self.swift_name(unit, entry).and_then(SwiftType::parse) =>
            {
                swift.name()
            }
            _ if let Some(mangled) = self.swift_name(unit, entry)
                && let Some(name) = swift_name(mangled, Shown::Type) =>
            {
                name
            }
            _ if unit.language == Language::Rust
                && name.is_some_and(|name| {
                    // `&str`, `(i32, u8)`, `[u8]`, `dyn Trait` need no qualification, though rustc
                    // puts some into a namespace.
                    !name.first().is_some_and(|first| {
                        first.is_ascii_alphabetic() || *first == b'_' || *first == b'{'
                    }) || name.starts_with(b"dyn ")
                }) =>
            {
                name.map(|name| String::from_utf8_lossy(name).into_owned())
                    .unwrap_or_default()
            }
            _ => self.qualified_name_of(unit, entry),
        }
    }

    /// Returns the size of a type in bytes, through typedefs and qualifiers.
    pub(super) fn type_size(&self, unit: &Unit, entry: &Entry, depth: u32) -> Option<u64> {
        if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size) {
            return udata(&size);
        }
        if let Some(bits) = entry
            .attr_value(gimli::DW_AT_bit_size)
            .filter(|_| entry.tag() != gimli::DW_TAG_subrange_type)
        {
            return udata(&bits).map(|bits| bits.div_ceil(8));
        }
        let through = || {
            if depth >= MAX_DEPTH {
                return None;
            }
            let target = self.inherited_reference(unit, entry, gimli::DW_AT_type)?;
            let (unit, entry) = self.entry(target).ok()?;
            if let Some(definition) = entry
                .attr_value(gimli::DW_AT_signature)
                .and_then(|value| self.reference(unit, value))
            {
                let (unit, entry) = self.entry(definition).ok()?;
                return self.type_size(unit, &entry, depth + 1);
            }
            self.type_size(unit, &entry, depth + 1)
        };
        match entry.tag() {
            gimli::DW_TAG_pointer_type if self.is_fn_item(unit, entry) => Some(0),
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                Some(u64::from(unit.raw.header.address_size()))
            }
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_template_alias
            | gimli::DW_TAG_subrange_type
            | gimli::DW_TAG_packed_type
            | gimli::DW_TAG_shared_type
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_immutable_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_enumeration_type => through(),
            gimli::DW_TAG_array_type => {
                let element = TypeId(self.inherited_reference(unit, entry, gimli::DW_AT_type)?);
                let array = self.read_array(unit, entry, element).ok()?;
                let element = match array.stride {
                    Some(stride) => stride,
                    None => through()?,
                };
                array
                    .counts
                    .iter()
                    .try_fold(element, |size, count| size.checked_mul((*count)?))
            }
            // Pointers to member functions are two words (Itanium C++ ABI §2.3).
            gimli::DW_TAG_ptr_to_member_type => {
                let target = self.inherited_reference(unit, entry, gimli::DW_AT_type)?;
                let (_, target) = self.entry(target).ok()?;
                let function = target.tag() == gimli::DW_TAG_subroutine_type;
                Some(if function { 16 } else { 8 })
            }
            _ => None,
        }
    }

    fn read_array(&self, unit: &Unit, entry: &Entry, element: TypeId) -> Result<ArrayType, Error> {
        let mut counts = Vec::new();
        let mut is_dynamic = false;
        if let Some(mut children) = Children::of(unit, entry)? {
            while let Some(child) = children.next()? {
                let count = match child.tag() {
                    gimli::DW_TAG_subrange_type => {
                        is_dynamic |= has_dynamic_bound(child);
                        subrange_count(child)
                    }
                    gimli::DW_TAG_generic_subrange => None,
                    gimli::DW_TAG_enumeration_type => continue,
                    _ => continue,
                };
                counts.push(count);
            }
        }
        if counts.is_empty() {
            counts.push(None);
        }
        let bytes = |at| entry.attr_value(at).and_then(|value| udata(&value));
        Ok(ArrayType {
            element,
            counts,
            is_dynamic,
            stride: bytes(gimli::DW_AT_byte_stride)
                .or_else(|| bytes(gimli::DW_AT_bit_stride).map(|bits| bits / 8))
                .filter(|stride| *stride > 0),
            vector: flag(entry, gimli::DW_AT_GNU_vector),
        })
    }

    /// Returns whether a type is an array with a computed bound, or leads to one by pointers,
    /// typedefs and elements. Reads no whole type.
    pub(crate) fn has_dynamic_array(&self, id: TypeId) -> bool {
        let mut die = id.0;
        for _ in 0..MAX_DEPTH {
            let Ok((unit, entry)) = self.entry(die) else {
                return false;
            };
            match entry.tag() {
                gimli::DW_TAG_array_type => {
                    let mut children = Children::of(unit, &entry).ok().flatten();
                    while let Some(Ok(Some(child))) = children.as_mut().map(Children::next) {
                        if child.tag() == gimli::DW_TAG_subrange_type && has_dynamic_bound(child) {
                            return true;
                        }
                    }
                }
                gimli::DW_TAG_pointer_type
                | gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => {}
                _ => return false,
            }
            let target = entry.attr_value(gimli::DW_AT_type);
            match target.and_then(|target| self.reference(unit, target)) {
                Some(target) => die = target,
                None => return false,
            }
        }
        false
    }

    fn read_subroutine(
        &self,
        unit: &Unit,
        entry: &Entry,
        return_type: Option<TypeId>,
    ) -> Result<Subroutine, Error> {
        let mut subroutine = Subroutine {
            return_type,
            parameters: Vec::new(),
            variadic: false,
        };
        if let Some(mut children) = Children::of(unit, entry)? {
            while let Some(child) = children.next()? {
                match child.tag() {
                    gimli::DW_TAG_formal_parameter => subroutine.parameters.extend(
                        self.inherited_reference(unit, child, gimli::DW_AT_type)
                            .map(TypeId),
                    ),
                    gimli::DW_TAG_unspecified_parameters => subroutine.variadic = true,
                    _ => {}
                }
            }
        }
        Ok(subroutine)
    }

    fn read_enumeration(
        &self,
        unit: &Unit,
        entry: &Entry,
        underlying: Option<TypeId>,
    ) -> Result<Enumeration, Error> {
        let size = self.type_size(unit, entry, 0);
        let known = underlying
            .and_then(|ty| self.is_signed(ty.0))
            .or_else(|| entry_signedness(entry));
        let mut values = Vec::new();
        if let Some(mut children) = Children::of(unit, entry)? {
            while let Some(child) = children.next()? {
                if child.tag() == gimli::DW_TAG_enumerator
                    && let Some(value) = child.attr_value(gimli::DW_AT_const_value)
                {
                    let name = self.own_name(unit, child).unwrap_or(b"");
                    values.push((String::from_utf8_lossy(name).into_owned(), value));
                    children.take(size_of::<(String, Value)>() + name.len())?;
                }
            }
        }
        // Old compilers do not record the underlying type; a negative value shows that it is
        // signed.
        let signed = known.unwrap_or_else(|| {
            values
                .iter()
                .any(|(_, value)| matches!(value, Value::Sdata(value) if *value < 0))
        });
        Ok(Enumeration {
            underlying,
            signed,
            scoped: flag(entry, gimli::DW_AT_enum_class),
            enumerators: values
                .into_iter()
                .filter_map(|(name, value)| {
                    Some(Enumerator {
                        name,
                        value: integer(&value, size, signed)?,
                    })
                })
                .collect(),
        })
    }

    /// Returns whether a base type is signed, through typedefs and qualifiers.
    pub(crate) fn is_signed(&self, die: DieRef) -> Option<bool> {
        let mut die = die;
        for _ in 0..MAX_HOPS {
            let (unit, entry) = self.entry(die).ok()?;
            if entry.tag() == gimli::DW_TAG_base_type {
                return entry_signedness(&entry);
            }
            die = self.reference(unit, entry.attr_value(gimli::DW_AT_type)?)?;
        }
        None
    }
}

/// All machines that are debugged are little-endian.
fn is_big_endian(entry: &Entry) -> bool {
    let order = entry.attr_value(gimli::DW_AT_endianity);
    matches!(order, Some(Value::Endianity(gimli::DW_END_big)))
}

fn encoding(entry: &Entry) -> Encoding {
    let Some(Value::Encoding(encoding)) = entry.attr_value(gimli::DW_AT_encoding) else {
        return Encoding::Other(0);
    };
    match encoding {
        gimli::DW_ATE_address => Encoding::Address,
        gimli::DW_ATE_boolean => Encoding::Boolean,
        gimli::DW_ATE_complex_float => Encoding::ComplexFloat,
        gimli::DW_ATE_decimal_float => Encoding::DecimalFloat,
        gimli::DW_ATE_lo_user => Encoding::ComplexInteger,
        gimli::DW_ATE_float => Encoding::Float,
        gimli::DW_ATE_signed => Encoding::Signed,
        gimli::DW_ATE_signed_char => Encoding::SignedChar,
        gimli::DW_ATE_unsigned => Encoding::Unsigned,
        gimli::DW_ATE_unsigned_char => Encoding::UnsignedChar,
        gimli::DW_ATE_UTF | gimli::DW_ATE_UCS | gimli::DW_ATE_ASCII => Encoding::Utf,
        other => Encoding::Other(other.0),
    }
}

fn entry_signedness(entry: &Entry) -> Option<bool> {
    entry.attr_value(gimli::DW_AT_encoding)?;
    Some(matches!(
        encoding(entry),
        Encoding::Signed | Encoding::SignedChar
    ))
}
