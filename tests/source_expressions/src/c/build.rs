//! Compilers of C and C++, with a deadline.

use super::recipe::Recipe;
use crate::commands;
use crate::probe::Level;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How a package is compiled.
pub struct Build<'a> {
    /// What its line in the list says.
    pub recipe: &'a Recipe,
    /// The compilers' family: `gcc` or `clang`.
    pub family: &'a str,
    /// How the package as it is is compiled.
    pub level: Level,
    /// A folder for files of a moment.
    pub scratch: &'a Path,
    /// When building has to end.
    pub deadline: Instant,
}

impl Build<'_> {
    fn compiler(&self, source: &Path, family: &str) -> &'static str {
        let is_c = source.extension().is_some_and(|it| it == "c");
        match (family, is_c) {
            ("clang", true) => "clang",
            ("clang", false) => "clang++",
            (_, true) => "gcc",
            _ => "g++",
        }
    }

    /// Compiles a file to an object in `folder`.
    ///
    /// # Errors
    /// The compiler's messages, a line each.
    fn object(
        &self,
        folder: &Path,
        source: &Path,
        family: &str,
        more: &[String],
    ) -> Result<PathBuf, String> {
        let name = source.to_string_lossy().replace('/', "_");
        let object = folder.join(format!("source_expressions_{name}.o"));
        let mut command = Command::new(self.compiler(source, family));
        // Macros are in the debug info.
        command.args(["-g3", "-w", "-c", "-o"]).arg(&object);
        if family == "clang" {
            command.arg("-fdebug-macro");
        }
        command
            .args(more)
            .args(&self.recipe.flags)
            .arg(folder.join(source));
        command.current_dir(folder);
        let ended = commands::run(&mut command, self.scratch, self.deadline)?;
        match ended.status.success() {
            true => Ok(object),
            false => Err(ended.errors),
        }
    }

    fn link(
        &self,
        folder: &Path,
        objects: &[PathBuf],
        family: &str,
        name: &str,
    ) -> Result<PathBuf, String> {
        let program = folder.join(name);
        let last = self
            .recipe
            .sources
            .iter()
            .find(|it| it.extension().is_some_and(|it| it != "c"));
        let mut command =
            Command::new(self.compiler(last.map_or(Path::new("a.c"), |it| it), family));
        command
            .arg("-o")
            .arg(&program)
            .args(objects)
            .args(&self.recipe.libraries);
        let ended = commands::run(&mut command, self.scratch, self.deadline)?;
        match ended.status.success() {
            true => Ok(program),
            false => Err(format!("it does not link: {}", first_error(&ended.errors))),
        }
    }

    /// Builds the package as it is.
    ///
    /// # Errors
    /// It does not compile.
    pub fn plain(&self, folder: &Path) -> Result<PathBuf, String> {
        let level = match self.level {
            Level::Plain => "-O0",
            Level::Optimized => "-O2",
        };
        let objects = self.recipe.sources.iter().map(|source| {
            let object = self.object(folder, source, self.family, &[level.to_owned()]);
            object.map_err(|why| format!("it does not compile: {}", first_error(&why)))
        });
        let objects = objects.collect::<Result<Vec<_>, _>>()?;
        self.link(folder, &objects, self.family, "source_expressions_plain")
    }

    /// Builds the copy with probes twice by gcc: with local variables that begin as zeros, and as a pattern.
    /// `correct` is told of a file that does not compile and of lines and columns of the errors, and says whether to
    /// try again.
    ///
    /// # Errors
    /// It does not compile.
    pub fn probed(
        &self,
        folder: &Path,
        mut correct: impl FnMut(&Path, &[(usize, usize)]) -> bool,
    ) -> Result<[PathBuf; 2], String> {
        let header = folder.join("source_expressions.h");
        let printer = folder.join("source_expressions.c");
        let write =
            |path: &Path, text: &str| std::fs::write(path, text).map_err(|why| why.to_string());
        write(&header, include_str!("printer.h"))?;
        write(&printer, include_str!("printer.c"))?;
        let mut programs = Vec::new();
        for filling in ["zero", "pattern"] {
            let include = header.to_string_lossy().into_owned();
            let more = [
                "-include".to_owned(),
                include,
                format!("-ftrivial-auto-var-init={filling}"),
                "-fdiagnostics-column-unit=byte".to_owned(),
            ];
            let mut objects =
                vec![self.object(folder, Path::new("source_expressions.c"), "gcc", &[])?];
            for source in &self.recipe.sources {
                objects.push(loop {
                    match self.object(folder, source, "gcc", &more) {
                        Ok(object) => break object,
                        Err(text) if correct(source, &places(&text, &folder.join(source))) => {}
                        Err(text) => {
                            return Err(format!(
                                "the copy does not compile: {}",
                                first_error(&text)
                            ));
                        }
                    }
                });
            }
            programs.push(self.link(
                folder,
                &objects,
                "gcc",
                &format!("source_expressions_{filling}"),
            )?);
        }
        <[PathBuf; 2]>::try_from(programs).map_err(|_| "no programs".to_owned())
    }

    /// Returns the command that prints clang's tree of a file.
    pub fn tree(&self, folder: &Path, source: &Path) -> Command {
        let is_c = source.extension().is_some_and(|it| it == "c");
        let left = self
            .deadline
            .saturating_duration_since(Instant::now())
            .as_secs();
        let mut command = Command::new("timeout");
        command
            .arg(left.clamp(1, 240).to_string())
            .arg(if is_c { "clang" } else { "clang++" });
        command.args(["-fsyntax-only", "-w", "-Xclang", "-ast-dump=json"]);
        command
            .args(&self.recipe.flags)
            .arg(folder.join(source))
            .current_dir(folder);
        command
    }
}

/// Returns the lines and columns of a file that errors are in.
fn places(errors: &str, source: &Path) -> Vec<(usize, usize)> {
    let name = source.to_string_lossy();
    let places = errors.lines().filter_map(|line| {
        let (line, rest) = line
            .strip_prefix(&*name)?
            .strip_prefix(':')?
            .split_once(':')?;
        let (column, rest) = rest.split_once(':')?;
        let is_error = rest.trim_start().starts_with("error:");
        is_error.then(|| Some((line.parse().ok()?, column.parse().ok()?)))?
    });
    places.collect()
}

fn first_error(text: &str) -> String {
    let errors = text
        .lines()
        .find(|it| it.contains("error") || it.contains("undefined"));
    errors
        .or(text.lines().next())
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect()
}
