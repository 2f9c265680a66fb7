//! How a program is to be started.

use crate::ids::error::Error;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// How a program is to be started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The file to run; absolute, or relative to `cwd`.
    pub program: PathBuf,
    /// Its arguments, the program's name not among them.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// stdin, stdout, stderr.
    pub stdio: [StdioTarget; 3],
    /// Load it at the same addresses each time.
    pub disable_aslr: bool,
    /// Record it, at the same addresses each time, so that it can be replayed.
    pub record: bool,
    /// If it is recorded: its threads have short slices that are random by this seed.
    pub chaos: Option<u64>,
}

impl Launch {
    /// Checks the program for mistakes that can be found before launching it.
    ///
    /// # Errors
    /// There is no such file, or it is a directory.
    pub fn check_program(&self) -> Result<(), Error> {
        let message = match std::fs::metadata(self.cwd.join(&self.program)) {
            Ok(file) if !file.is_dir() => return Ok(()),
            Ok(_) => "a directory; set `program` to the executable in it".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                "file not found; check `program` and build it".to_owned()
            }
            Err(error) => error.to_string(),
        };
        let program = self.program.clone();
        Err(Error::Launch { program, message })
    }
}

/// Where one of the debuggee's standard descriptors leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StdioTarget {
    /// stdout and stderr: to us, as `Event::Output`; stdin: at its end from the start.
    #[default]
    Captured,
    /// `/dev/null`.
    Null,
    /// A file, relative to the working directory; written ones are created and truncated.
    File(PathBuf),
    /// The adapter's own descriptor.
    Inherited,
}
