//! Generic signatures, parameters and requirements.

use super::super::node::{Id, Kind};
use super::Printer;

/// Parameters of one level that are listed.
const MAX_LISTED: u64 = 128;

/// Returns the name of a parameter: letters for its index, and a number for its depth.
fn parameter_name(depth: u64, index: u64) -> String {
    let mut name = String::new();
    let mut index = index;
    loop {
        name.push(char::from(b'A' + u8::try_from(index % 26).unwrap_or(0)));
        index /= 26;
        if index == 0 {
            break;
        }
    }
    if depth > 0 {
        name.push_str(&depth.to_string());
    }
    name
}

impl Printer<'_, '_> {
    fn depth_and_index(&self, parameter: Id) -> Option<(u64, u64)> {
        let depth = self.tree.get(self.child(parameter, 0)?).number;
        Some((depth, self.tree.get(parameter).number))
    }

    pub(super) fn generic_node(&mut self, id: Id) -> Option<bool> {
        let tree = self.tree;
        match tree.kind(id) {
            Kind::GenericParameter => {
                let (depth, index) = self.depth_and_index(id)?;
                self.write(&parameter_name(depth, index))?;
            }
            Kind::ExistentialSelf => self.write("Self")?,
            Kind::GenericSignature | Kind::PseudogenericSignature => self.signature(id)?,
            Kind::Member => self.children(id, ".")?,
            Kind::MemberName => {
                let (name, protocol) = match tree.children(id) {
                    [name, protocol] => (*name, Some(*protocol)),
                    [name] => (*name, None),
                    _ => return None,
                };
                if let Some(protocol) = protocol {
                    self.node(protocol)?;
                    self.write(".")?;
                }
                self.node(name)?;
            }
            Kind::Conforms => self.children(id, ": ")?,
            Kind::SameType => self.children(id, " == ")?,
            Kind::SameShape => {
                let [one, other] = tree.children(id) else {
                    return None;
                };
                self.node(*one)?;
                self.write(".shape == ")?;
                self.node(*other)?;
                self.write(".shape")?;
            }
            Kind::Inverse => {
                self.children(id, "")?;
                match tree.get(id).number {
                    0 => self.write(": ~Swift.Copyable")?,
                    1 => self.write(": ~Swift.Escapable")?,
                    bit => self.write(&format!(": ~Swift.<bit {bit}>"))?,
                }
            }
            Kind::Layout => {
                let [subject, sizes @ ..] = tree.children(id) else {
                    return None;
                };
                self.node(*subject)?;
                self.write(": ")?;
                self.write(&tree.get(id).text)?;
                if !sizes.is_empty() {
                    self.write("(")?;
                    self.list(sizes, ", ")?;
                    self.write(")")?;
                }
            }
            _ => return Some(false),
        }
        Some(true)
    }

    fn signature(&mut self, id: Id) -> Option<()> {
        let tree = self.tree;
        let children = tree.children(id);
        let levels = children
            .iter()
            .take_while(|child| tree.kind(**child) == Kind::GenericParameterCount);
        let levels = levels.count();
        let (levels, rest) = children.split_at_checked(levels)?;
        let is_marker = |id: &Id| matches!(tree.kind(*id), Kind::PackMarker | Kind::ValueMarker);
        let markers: Vec<Id> = rest.iter().copied().filter(is_marker).collect();
        self.write("<")?;
        for (depth, level) in levels.iter().enumerate() {
            if depth > 0 {
                self.write("><")?;
            }
            let depth = u64::try_from(depth).ok()?;
            for index in 0..tree.get(*level).number {
                if index > 0 {
                    self.write(", ")?;
                }
                if index >= MAX_LISTED {
                    self.write("...")?;
                    break;
                }
                self.listed_parameter(depth, index, &markers)?;
            }
        }
        let is_requirement = |id: &Id| !is_marker(id);
        let requirements: Vec<Id> = rest.iter().copied().filter(is_requirement).collect();
        if !requirements.is_empty() && self.is_full() {
            self.write(" where ")?;
            self.list(&requirements, ", ")?;
        }
        self.write(">")
    }

    fn listed_parameter(&mut self, depth: u64, index: u64, markers: &[Id]) -> Option<()> {
        let marker = markers.iter().copied().find(|marker| {
            let parameter = self.child(*marker, 0);
            parameter.and_then(|it| self.depth_and_index(it)) == Some((depth, index))
        });
        match marker.map(|marker| self.kind(marker)) {
            Some(Kind::PackMarker) => self.write("each ")?,
            Some(_) => self.write("let ")?,
            None => {}
        }
        self.write(&parameter_name(depth, index))
    }
}
