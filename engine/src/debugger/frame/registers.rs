//! The registers that a frame shows.

use super::{FramePosition, FrameScope};
use crate::debugger::RegisterGroup;
use crate::expr::EvalContext;
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::{Named, RegisterPlace, Value};
use std::borrow::Cow;

impl FrameScope<'_> {
    /// Returns a group of registers, as far as they are known; the upper halves of the vector
    /// registers are the thread's.
    pub fn register_group(&self, group: RegisterGroup) -> Vec<Named> {
        let Some(place) = self.frame else {
            return Vec::new();
        };
        let registers = self.seen_registers(place);
        let machine = registers.machine();
        let arch = self.modules.arch();
        let names: Vec<String> = match group {
            RegisterGroup::General | RegisterGroup::Segment => {
                let wanted = group == RegisterGroup::Segment;
                let names = machine.register_names().iter().map(|(_, name)| *name);
                let names = names.filter(|name| arch.is_segment_register(name) == wanted);
                names.map(str::to_owned).collect()
            }
            RegisterGroup::Flags => {
                let whole = arch.flags().map_or("", |flags| flags.name);
                let flags = register_parts::flags(registers, |register| at(place, register));
                let flag = |name: &str| name.split(' ').next().unwrap_or(name).to_owned();
                let named = flags.into_iter().map(|(name, value)| Named {
                    name: name.to_owned(),
                    expression: Some(format!("${whole}.{}", flag(name))),
                    value: Ok(value),
                    is_parameter: false,
                    declaration: None,
                });
                return named.collect();
            }
            RegisterGroup::Vector => arch.vector_registers(self.extended(place).as_deref()),
            RegisterGroup::Float => arch.float_registers(),
        };
        self.registers_named(names)
    }

    /// Returns the parts of a register of a frame: smaller ones, or the lanes of a vector.
    pub fn register_parts(&self, register: &str) -> Vec<Named> {
        let arch = self.modules.arch();
        let parts = arch.parts_of_register(register);
        if !parts.is_empty() {
            return self.registers_named(parts);
        }
        let Some(whole) = self.register(register) else {
            return Vec::new();
        };
        if !arch.is_vector_register(register) {
            return Vec::new();
        }
        let views = register_parts::views().filter_map(|view| {
            let value = register_parts::member(arch, &whole, view, self.language())?;
            Some(Named {
                name: view.to_owned(),
                expression: Some(format!("${register}.{view}")),
                value: Ok(value),
                is_parameter: false,
                declaration: None,
            })
        });
        views.collect()
    }

    /// Returns the extended registers of the thread with the evaluation's writes; known for the innermost
    /// frame only.
    pub(super) fn extended(&self, place: FramePosition<'_>) -> Option<Cow<'_, [u8]>> {
        let read = || self.os.extended_registers(place.key.thread);
        let area = self.extended.get_or_init(read).as_deref();
        let mut area = Cow::Borrowed(area.filter(|_| place.index == 0)?);
        for (written, bytes) in &self.register_writes {
            let arch = self.modules.arch();
            if arch.is_extended_register(written.register) {
                arch.write_extended_register(written.register, area.to_mut(), bytes);
            }
        }
        Some(area)
    }

    /// Returns the known ones of these registers.
    pub(super) fn registers_named(&self, names: Vec<String>) -> Vec<Named> {
        let known = names.into_iter().filter_map(|name| {
            Some(Named {
                value: Ok(self.register(&name)?),
                expression: Some(format!("${name}")),
                name,
                is_parameter: false,
                declaration: None,
            })
        });
        known.collect()
    }

    pub(super) fn register_value(
        &self,
        place: FramePosition<'_>,
        register: dwarf::Register,
        name: &str,
        value: u64,
    ) -> Value {
        let place = RegisterPlace {
            thread: place.key.thread,
            level: place.index,
            register,
        };
        Value::from_register(place, name, value)
    }
}

/// Returns a register of the machine frame of a place.
pub(super) fn at(place: FramePosition<'_>, register: dwarf::Register) -> RegisterPlace {
    RegisterPlace {
        thread: place.key.thread,
        level: place.index,
        register,
    }
}
