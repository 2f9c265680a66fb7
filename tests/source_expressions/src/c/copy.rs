//! The copy of a package with probes.

use super::find::Form;
use crate::probe::Statement;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;

/// The copy, and which probes it goes without.
pub struct Copy<'a> {
    /// The folder of the package as it is.
    pub plain: &'a Path,
    /// The folder of the copy.
    pub folder: &'a Path,
    /// What is found in the package.
    pub statements: &'a [Statement],
    /// How the probes are printed, by their numbers.
    pub forms: &'a [Form],
    /// The numbers of those that do not compile.
    pub left: HashSet<usize>,
}

impl Copy<'_> {
    /// Writes all files, or one, with probes; the lines stay the same.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn write(&self, only: Option<&Path>) -> std::io::Result<()> {
        let files: HashSet<&Path> = self.statements.iter().map(|it| &*it.file).collect();
        for file in files
            .into_iter()
            .filter(|it| only.is_none_or(|only| only == *it))
        {
            let (text, _) = self.text(file)?;
            std::fs::write(self.folder.join(file), text)?;
        }
        Ok(())
    }

    /// Leaves out the probes of a file at lines and columns of errors; returns whether there are any.
    pub fn correct(&mut self, file: &Path, errors: &[(usize, usize)]) -> bool {
        let Ok((text, places)) = self.text(file) else {
            return false;
        };
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
        let before = self.left.len();
        for (line, column) in errors {
            let Some(start) = starts.get(line.saturating_sub(1)) else {
                continue;
            };
            // Columns begin at 1.
            let at = (start + column).saturating_sub(1);
            let place = places.range(..=at).next_back();
            self.left
                .extend(place.filter(|it| it.1.0.contains(&at)).map(|it| it.1.1));
        }
        self.left.len() > before && self.write(Some(file)).is_ok()
    }

    /// Returns a file with probes, and where they stand, by their beginnings.
    #[allow(clippy::type_complexity)]
    fn text(
        &self,
        file: &Path,
    ) -> std::io::Result<(String, BTreeMap<usize, (Range<usize>, usize)>)> {
        let statements = self.statements.iter().filter(|it| it.file == file);
        let mut statements: Vec<&Statement> = statements.collect();
        statements.sort_by_key(|it| it.offset);
        let text = std::fs::read_to_string(self.plain.join(file))?;
        let (mut copy, mut places, mut at) = (String::new(), BTreeMap::new(), 0);
        for statement in statements {
            copy.push_str(&text[at..statement.offset]);
            at = statement.offset;
            let id = statement.id;
            copy.push_str(&format!("if (SOURCE_EXPRESSIONS_FIRST({id})) {{ "));
            for probe in statement
                .probes
                .iter()
                .filter(|it| !self.left.contains(&it.id))
            {
                let begin = copy.len();
                let (text, id) = (&probe.text, probe.id);
                let (function, cast) = self.forms[id].printed();
                copy.push_str(&format!(
                    "SOURCE_EXPRESSIONS_PROBE(source_expressions_{function}({id}, ({cast})({text}))) "
                ));
                places.insert(begin, (begin..copy.len(), id));
            }
            copy.push_str("source_expressions_done(); } ");
        }
        copy.push_str(&text[at..]);
        Ok((copy, places))
    }
}
