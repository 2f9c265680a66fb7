//! The signature without which macOS does not let a program control another one.

use std::io::Write;
use std::path::Path;
use std::process::Command;

/// What the signature entitles to.
const ENTITLEMENTS: &str = include_str!("debugger.entitlements");

/// Signs an executable ad hoc, which is valid on this machine only. `codesign`: Apple's tool. Returns
/// what was done.
///
/// # Errors
/// Cause and remedy.
pub fn sign(executable: &Path, codesign: &Path) -> Result<String, String> {
    let mut entitlements = tempfile::Builder::new()
        .prefix("stillpoint-")
        .suffix(".entitlements")
        .tempfile()
        .map_err(|error| format!("no temporary file: {error}"))?;
    (entitlements.write_all(ENTITLEMENTS.as_bytes()))
        .map_err(|error| format!("{}: {error}", entitlements.path().display()))?;
    let output = Command::new(codesign)
        .args(["--force", "--sign", "-", "--entitlements"])
        .arg(entitlements.path())
        .arg(executable)
        .output()
        .map_err(|error| {
            let codesign = codesign.display();
            format!("cannot run {codesign}: {error}; install it by `xcode-select --install`")
        })?;
    let executable = executable.display();
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.trim();
        return Err(format!(
            "cannot sign {executable}: {reason}; run `stillpoint setup` as a user that may write \
             there"
        ));
    }
    Ok(format!(
        "Signed {executable} ad hoc with the entitlement com.apple.security.cs.debugger. It may \
         debug programs of this user now that are signed with get-task-allow, as compilers do. If \
         macOS still asks for a password, run `sudo DevToolsSecurity -enable` once.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Makes a script in place of Apple's tool.
    fn tool(folder: &Path, script: &str) -> std::path::PathBuf {
        let path = folder.join("codesign");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).unwrap();
        path
    }

    #[test]
    fn signs_with_the_entitlement_of_a_debugger() {
        let folder = tempfile::tempdir().unwrap();
        let script = "cp \"$5\" \"$(dirname \"$0\")/copy\"; echo \"$1 $2 $3 $4 $6\" >\"$0.log\"";
        let codesign = tool(folder.path(), script);
        let said = sign(Path::new("/bin/debugger"), &codesign).unwrap();
        assert!(said.starts_with("Signed /bin/debugger ad hoc"), "{said}");
        let log = std::fs::read_to_string(folder.path().join("codesign.log")).unwrap();
        assert_eq!(log, "--force --sign - --entitlements /bin/debugger\n");
        let copy = std::fs::read_to_string(folder.path().join("copy")).unwrap();
        assert!(copy.contains("<key>com.apple.security.cs.debugger</key>"));
    }

    #[test]
    fn failures_are_explained() {
        let folder = tempfile::tempdir().unwrap();
        let codesign = tool(folder.path(), "echo 'Permission denied' >&2; exit 1");
        let error = sign(Path::new("/bin/debugger"), &codesign).unwrap_err();
        assert!(error.contains("Permission denied; run"), "{error}");
        let error = sign(Path::new("/bin/debugger"), &folder.path().join("none")).unwrap_err();
        assert!(error.contains("xcode-select --install"), "{error}");
    }
}
