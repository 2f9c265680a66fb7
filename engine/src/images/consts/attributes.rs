//! The attributes before an item: whether it is compiled as it is written.

use super::cfg;
use super::outline::Reader;
use super::scopes::Attribute;

/// Returns whether an attribute leaves an item as it is written.
fn is_harmless(name: &str) -> bool {
    matches!(
        name,
        "allow"
            | "expect"
            | "warn"
            | "deny"
            | "forbid"
            | "doc"
            | "deprecated"
            | "must_use"
            | "macro_use"
            | "inline"
            | "rustfmt"
    )
}

impl Reader<'_> {
    /// Reads the attributes before an item.
    pub(super) fn attributes(&mut self) -> Result<Attribute, String> {
        let mut found = Attribute::Harmless;
        while self.is(self.at, b'#') {
            let is_inner = self.is(self.at + 1, b'!');
            let open = self.at + 1 + usize::from(is_inner);
            if !self.is(open, b'[') {
                break;
            }
            let name = self.word(open + 1);
            self.at = open;
            self.skip_group()?;
            match name {
                _ if is_inner || is_harmless(name) => {}
                "cfg_attr" if self.adds_harmless_attributes(open + 2)? => {}
                _ if found == Attribute::Absent => {}
                "cfg" => match self.predicate(open + 2) {
                    Some(true) => {}
                    Some(false) => found = Attribute::Absent,
                    None if found == Attribute::Harmless => found = Attribute::Cfg,
                    None => {}
                },
                name => found = Attribute::Other(name.chars().take(64).collect()),
            }
        }
        Ok(found)
    }

    /// Returns whether the predicate of a `cfg` holds, whose group begins at a token and ends before this one.
    fn predicate(&self, group: usize) -> Option<bool> {
        cfg::holds(self.text, self.tokens.get(group..self.at)?)
    }

    /// Returns whether the group at a token, behind `cfg_attr`, adds only attributes that change nothing.
    fn adds_harmless_attributes(&mut self, group: usize) -> Result<bool, String> {
        let end = std::mem::replace(&mut self.at, group + 1);
        let mut is_predicate = true;
        let mut all = true;
        while self.at + 1 < end {
            if self.opens(self.at) {
                self.skip_group()?;
                continue;
            }
            if self.is(self.at, b',') {
                is_predicate = false;
                all &= self.is(self.at + 1, b')') || is_harmless(self.word(self.at + 1));
            }
            self.at += 1;
        }
        self.at = end;
        Ok(all && !is_predicate)
    }
}
