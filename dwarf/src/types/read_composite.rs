//! Reads structs, classes and unions: bases, members, bit-fields, variants.

use crate::entries::children::Children;
use crate::entries::constant::{discriminant_list, discriminant_value, integer, udata};
use crate::entries::units::{Entry, MAX_HOPS, Unit, Value, flag};
use crate::ids::error::Error;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::types::{
    Bitfield, Composite, CompositeKind, Inheritance, Member, MemberOffset, TypeId, Variant,
    VariantPart,
};
use gimli::{Operation, UnitOffset};

/// Maximum nesting of variant parts.
const MAX_NESTING: u32 = 8;

/// Returns whether a function is defaulted (`= default`) in its class.
pub(crate) fn is_defaulted(function: &Entry) -> bool {
    let how = function
        .attr_value(gimli::DW_AT_defaulted)
        .and_then(|it| udata(&it));
    how == Some(u64::from(gimli::DW_DEFAULTED_in_class.0))
}

impl DebugInfo {
    pub(super) fn read_composite(&self, unit: &Unit, entry: &Entry) -> Result<Composite, Error> {
        let mut composite = Composite {
            kind: match entry.tag() {
                gimli::DW_TAG_union_type => CompositeKind::Union,
                gimli::DW_TAG_class_type | gimli::DW_TAG_interface_type => CompositeKind::Class,
                _ => CompositeKind::Struct,
            },
            bases: Vec::new(),
            members: Vec::new(),
            statics: Vec::new(),
            variants: None,
            template_types: Vec::new(),
            declaration: flag(entry, gimli::DW_AT_declaration),
            polymorphic: entry.has_attr(gimli::DW_AT_containing_type),
            by_address: match entry.attr_value(gimli::DW_AT_calling_convention) {
                Some(Value::CallingConvention(gimli::DW_CC_pass_by_reference)) => Some(true),
                Some(Value::CallingConvention(gimli::DW_CC_pass_by_value)) => Some(false),
                _ => None,
            },
            closure: false,
            is_objc_class: entry
                .attr_value(gimli::DW_AT_APPLE_runtime_class)
                .is_some_and(is_objc),
            swift_name: self.swift_name(unit, entry),
        };
        let unnamed = !entry.has_attr(gimli::DW_AT_name);
        let Some(mut children) = Children::of(unit, entry)? else {
            return Ok(composite);
        };
        while let Some(child) = children.next()? {
            let mut bytes = size_of::<Member>();
            match child.tag() {
                gimli::DW_TAG_member => {
                    let Some(mut member) = self.read_member(unit, child) else {
                        continue;
                    };
                    bytes += member.name.len();
                    // Before version 5 a static member is a member with `DW_AT_external`.
                    if flag(child, gimli::DW_AT_external) || flag(child, gimli::DW_AT_declaration) {
                        composite.statics.extend(of_the_source(member));
                    } else {
                        if composite.is_objc_class {
                            // The compiler writes 0, or the part of a byte that a bit-field is in.
                            member.offset = MemberOffset::AtRuntime;
                        }
                        composite.polymorphic |= member.name.starts_with("_vptr");
                        composite.members.push(member);
                    }
                }
                gimli::DW_TAG_variable => {
                    let member = self.read_member(unit, child);
                    bytes += member.as_ref().map_or(0, |member| member.name.len());
                    composite.statics.extend(member.and_then(of_the_source));
                }
                gimli::DW_TAG_inheritance => {
                    let Some(ty) = self.reference_attr(unit, child, gimli::DW_AT_type) else {
                        continue;
                    };
                    composite.bases.push(Inheritance {
                        ty: TypeId(ty),
                        offset: member_offset(unit, child),
                        is_virtual: matches!(
                            child.attr_value(gimli::DW_AT_virtuality),
                            Some(Value::Virtuality(virtuality)) if virtuality != gimli::DW_VIRTUALITY_none
                        ),
                        is_public: match child.attr_value(gimli::DW_AT_accessibility) {
                            Some(Value::Accessibility(access)) => access == gimli::DW_ACCESS_public,
                            _ => composite.kind != CompositeKind::Class,
                        },
                    });
                }
                gimli::DW_TAG_variant_part => {
                    composite.variants = self.read_variant_part(unit, child, 0)?;
                }
                gimli::DW_TAG_template_type_parameter => {
                    let parameter = self.template_type(unit, child);
                    bytes += parameter.as_ref().map_or(0, |(name, _)| name.len());
                    composite.template_types.extend(parameter);
                }
                gimli::DW_TAG_subprogram => {
                    if unnamed && unit.language == Language::Cpp {
                        let name = self.own_name(unit, child).unwrap_or_default();
                        composite.closure |= name.starts_with(b"operator()");
                    }
                    if composite.by_address.is_none()
                        && self.copies_or_destroys(unit, entry, child)?
                    {
                        composite.by_address = Some(true);
                    }
                }
                gimli::DW_TAG_GNU_template_parameter_pack => {
                    if let Some(mut pack) = Children::of(unit, child)? {
                        while let Some(argument) = pack.next()? {
                            let parameter = self.template_type(unit, argument);
                            pack.take(parameter.as_ref().map_or(0, |(name, _)| name.len()))?;
                            composite.template_types.extend(parameter);
                        }
                    }
                }
                _ => {}
            }
            children.take(bytes)?;
        }
        Ok(composite)
    }

    /// Returns whether a member function is a user-written copy or move constructor or destructor.
    /// It is the only sign in gcc's debug info that values of the class are passed by address.
    fn copies_or_destroys(
        &self,
        unit: &Unit,
        class: &Entry,
        function: &Entry,
    ) -> Result<bool, Error> {
        let written = !flag(function, gimli::DW_AT_artificial)
            && !flag(function, gimli::DW_AT_deleted)
            && !is_defaulted(function);
        let name = self.own_name(unit, function).unwrap_or(b"");
        if !written || name.is_empty() {
            return Ok(false);
        }
        if name.starts_with(b"~") {
            return Ok(true);
        }
        let of = self.own_name(unit, class).unwrap_or(b"");
        if of.split(|byte| *byte == b'<').next() != Some(name) {
            return Ok(false);
        }
        let Some(mut parameters) = Children::of(unit, function)? else {
            return Ok(false);
        };
        let mut parameter_type = None;
        while let Some(parameter) = parameters.next()? {
            match parameter.tag() {
                gimli::DW_TAG_formal_parameter if flag(parameter, gimli::DW_AT_artificial) => {}
                gimli::DW_TAG_formal_parameter if parameter_type.is_none() => {
                    parameter_type = self.reference_attr(unit, parameter, gimli::DW_AT_type);
                }
                _ => return Ok(false),
            }
        }
        let this = unit.die(class.offset());
        let mut is_reference = false;
        for _ in 0..MAX_HOPS {
            let Some(die) = parameter_type else {
                return Ok(false);
            };
            if die == this {
                return Ok(is_reference);
            }
            let (unit, entry) = self.entry(die)?;
            match entry.tag() {
                gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                    is_reference = true;
                }
                gimli::DW_TAG_const_type | gimli::DW_TAG_typedef => {}
                _ => return Ok(false),
            }
            parameter_type = self.reference_attr(unit, &entry, gimli::DW_AT_type);
        }
        Ok(false)
    }

    fn template_type(&self, unit: &Unit, entry: &Entry) -> Option<(String, Option<TypeId>)> {
        if !matches!(entry.tag(), gimli::DW_TAG_template_type_parameter) {
            return None;
        }
        let name = self.own_name(unit, entry).unwrap_or(b"");
        let ty = match entry.attr_value(gimli::DW_AT_type) {
            Some(ty) => Some(TypeId(self.reference(unit, ty)?)),
            None => None,
        };
        Some((String::from_utf8_lossy(name).into_owned(), ty))
    }

    pub(crate) fn reference_attr(
        &self,
        unit: &Unit,
        entry: &Entry,
        at: gimli::DwAt,
    ) -> Option<DieRef> {
        self.reference(unit, entry.attr_value(at)?)
    }

    fn read_member(&self, unit: &Unit, entry: &Entry) -> Option<Member> {
        let ty = TypeId(self.inherited_reference(unit, entry, gimli::DW_AT_type)?);
        let name = self
            .inherited_string(unit, entry, gimli::DW_AT_name)
            .unwrap_or(b"");
        let offset = member_offset(unit, entry);
        let bits = self.bit_field(entry, &offset, ty);
        Some(Member {
            name: String::from_utf8_lossy(name).into_owned(),
            ty,
            offset: match &bits {
                Some(bits) => MemberOffset::Bytes(bits.offset / 8),
                None => offset,
            },
            bits,
            artificial: flag(entry, gimli::DW_AT_artificial),
            id: unit.die(entry.offset()),
        })
    }

    /// Returns the position of a bit-field, from any of the three encodings.
    fn bit_field(&self, entry: &Entry, offset: &MemberOffset, ty: TypeId) -> Option<Bitfield> {
        let size = udata(&entry.attr_value(gimli::DW_AT_bit_size)?)?;
        let byte = match offset {
            MemberOffset::Bytes(bytes) => bytes.checked_mul(8)?,
            MemberOffset::Expression(_) | MemberOffset::AtRuntime => return None,
        };
        // Since version 4: offset from the start of the object, or of the member's storage if a
        // byte offset is present, too (DWARF 5 §5.7.6).
        if let Some(bits) = entry.attr_value(gimli::DW_AT_data_bit_offset) {
            return Some(Bitfield {
                offset: udata(&bits)?.checked_add(byte)?,
                size,
            });
        }
        // Versions 2 and 3: offset from the storage unit's most significant bit; may be negative.
        if let Some(value) = entry.attr_value(gimli::DW_AT_bit_offset) {
            let from_top = value
                .udata_value()
                .and_then(|bits| i64::try_from(bits).ok())
                .or_else(|| value.sdata_value())?;
            let storage = match entry.attr_value(gimli::DW_AT_byte_size) {
                Some(size) => udata(&size)?,
                None => {
                    let (unit, entry) = self.entry(ty.0).ok()?;
                    self.type_size(unit, &entry, 0)?
                }
            };
            let storage = i64::try_from(storage.checked_mul(8)?).ok()?;
            let offset = i64::try_from(byte)
                .ok()?
                .checked_add(storage)?
                .checked_sub(from_top)?
                .checked_sub(i64::try_from(size).ok()?)?;
            return Some(Bitfield {
                offset: u64::try_from(offset).ok()?,
                size,
            });
        }
        Some(Bitfield { offset: byte, size })
    }

    fn read_variant_part(
        &self,
        unit: &Unit,
        entry: &Entry,
        depth: u32,
    ) -> Result<Option<VariantPart>, Error> {
        if depth >= MAX_NESTING {
            return Ok(None);
        }
        let discriminant = self
            .reference_attr(unit, entry, gimli::DW_AT_discr)
            .and_then(|die| {
                let (unit, entry) = self.entry(die).ok()?;
                self.read_member(unit, &entry)
            });
        let discriminant_type = discriminant
            .as_ref()
            .map(|member| member.ty.0)
            .or_else(|| self.reference_attr(unit, entry, gimli::DW_AT_type));
        let signed = discriminant_type
            .and_then(|ty| self.is_signed(ty))
            .unwrap_or(false);
        let size = discriminant_type.and_then(|ty| {
            let (unit, entry) = self.entry(ty).ok()?;
            self.type_size(unit, &entry, 0)
        });
        let mut variants = Vec::new();
        if let Some(mut children) = Children::of(unit, entry)? {
            while let Some(child) = children.next()? {
                if child.tag() != gimli::DW_TAG_variant {
                    continue;
                }
                let mut variant = Variant {
                    values: Vec::new(),
                    members: Vec::new(),
                    line: None,
                };
                if let Some(value) = child.attr_value(gimli::DW_AT_discr_value) {
                    let value = match unit.language {
                        Language::Rust => discriminant_value(&value, size, signed),
                        _ => integer(&value, size, signed),
                    };
                    variant.values.extend(value.map(|value| (value, value)));
                } else if let Some(Value::Block(block)) = child.attr_value(gimli::DW_AT_discr_list)
                {
                    variant.values = discriminant_list(block, signed).unwrap_or_default();
                }
                if let Some(mut members) = Children::of(unit, child)? {
                    while let Some(member) = members.next()? {
                        if member.tag() == gimli::DW_TAG_member {
                            let line = member.attr_value(gimli::DW_AT_decl_line);
                            let line = line.and_then(|line| line.udata_value());
                            variant.line = variant.line.or(line.and_then(|it| it.try_into().ok()));
                            let member = self.read_member(unit, member);
                            let name = member.as_ref().map_or(0, |member| member.name.len());
                            members.take(size_of::<Member>() + name)?;
                            variant.members.extend(member);
                        }
                    }
                }
                variants.push(variant);
            }
        }
        Ok(Some(VariantPart {
            discriminant,
            variants,
        }))
    }
}

/// Returns a static member if the source has it: clang 21 adds `_vtable$` to classes.
fn of_the_source(member: Member) -> Option<Member> {
    (!member.artificial).then_some(member)
}

/// Returns whether a `DW_LANG_*` is that of Objective-C, with or without C++.
fn is_objc(language: Value) -> bool {
    is_language(
        language,
        &[gimli::DW_LANG_ObjC, gimli::DW_LANG_ObjC_plus_plus],
    )
}

/// Returns whether the value of an attribute is one of these `DW_LANG_*`.
pub(super) fn is_language(language: Value, all: &[gimli::DwLang]) -> bool {
    let number = match language {
        Value::Language(language) => Some(u64::from(language.0)),
        other => udata(&other),
    };
    number.is_some_and(|it| all.iter().any(|language| u64::from(language.0) == it))
}

fn member_offset(unit: &Unit, entry: &Entry) -> MemberOffset {
    let Some(value) = entry.attr_value(gimli::DW_AT_data_member_location) else {
        return MemberOffset::Bytes(0);
    };
    if let Some(bytes) = udata(&value) {
        return MemberOffset::Bytes(bytes);
    }
    // Versions 2 and 3 may write a plain offset as an expression.
    if let Some(expression) = value.exprloc_value() {
        let mut operations = expression.operations(unit.raw.encoding());
        if let (Ok(Some(Operation::PlusConstant { value })), Ok(None)) =
            (operations.next(), operations.next())
        {
            return MemberOffset::Bytes(value);
        }
    }
    MemberOffset::Expression(unit.die(UnitOffset(entry.offset().0)))
}
