//! `debug_test`: finds a test of a test framework, runs it under the debugger, and stops where it
//! fails or hangs.

mod build;
mod cargo;
mod ctest;

use super::arguments::{Framework, Launch, Test, seconds};
use super::error::ToolError;
use super::run::WaitResult;
use super::session::Session;
use super::tools::Tools;
use std::collections::BTreeMap;
use std::path::Path;

/// Default time for the test, in seconds.
const LIMIT: f64 = 30.0;

/// How a test is run.
#[derive(Debug, PartialEq, Eq, Default, Clone)]
struct Plan {
    program: String,
    args: Vec<String>,
    cwd: Option<String>,
    env: BTreeMap<String, String>,
}

impl Tools {
    /// Runs `debug_test`.
    ///
    /// # Errors
    /// The test cannot be built or found, or started.
    pub async fn test(&self, input: Test) -> Result<String, ToolError> {
        self.may_act("a test")?;
        let plan = plan(&input).await?;
        // The tests of a package may be built while its program is debugged.
        self.close().await;
        let launch = Launch {
            program: plan.program,
            args: plan.args,
            cwd: plan.cwd,
            env: plan.env.into_iter().chain(input.env.clone()).collect(),
            stdin: input.stdin.clone(),
            stdout: input.stdout.clone(),
            record: input.record,
            settings: input.settings.clone(),
            ..Launch::default()
        };
        let mut text = format!("running {} {}\n", launch.program, launch.args.join(" "));
        let session = self.start(&launch).await?;
        for place in &input.breakpoints {
            match session.add_first(place).await {
                Ok(line) => text.push_str(&format!("{line}\n")),
                Err(error) => {
                    self.close().await;
                    return Err(error);
                }
            }
        }
        let limit = seconds(input.timeout, LIMIT).as_secs_f64();
        let waited = session.first_stop(Some(limit)).await?;
        text.push_str(&end_of(&session, waited, input.budget, limit).await?);
        Ok(text)
    }
}

/// Describes how the test went: its failure, its end, or why it hangs.
async fn end_of(
    session: &Session,
    waited: WaitResult,
    budget: Option<i64>,
    limit: f64,
) -> Result<String, ToolError> {
    if let WaitResult::Running(_) = waited {
        let head = format!("the test still runs after {limit} seconds\n");
        return Ok(head + &session.explain(Default::default()).await?);
    }
    let verdict = match &waited {
        WaitResult::Ended(how) if how == "exit code 0" => "the test has passed\n",
        WaitResult::Ended(_) => "the test has failed, without a stop\n",
        _ => "",
    };
    let report = session.report(waited, budget, false, None).await?;
    Ok(format!("{verdict}{report}"))
}

/// Finds the command of a test; builds it if its framework can.
async fn plan(input: &Test) -> Result<Plan, ToolError> {
    let framework = match input.framework {
        Some(framework) => framework,
        None => guess(input)?,
    };
    let folder = Path::new(input.dir.as_deref().unwrap_or("."));
    match framework {
        Framework::Cargo => cargo::plan(input, folder).await,
        Framework::Ctest => ctest::plan(input, folder).await,
        Framework::Gtest | Framework::Catch2 => of_program(input, framework),
        Framework::Pytest => of_python(input, folder).await,
    }
}

/// Guesses the framework from what is given and what is in the folder.
fn guess(input: &Test) -> Result<Framework, ToolError> {
    let folder = Path::new(input.dir.as_deref().unwrap_or("."));
    let has = |name: &str| folder.join(name).exists();
    let looks_python = input.name.contains(".py");
    match () {
        () if input.program.is_some() => {
            let message = "`framework` is missing; with `program`, set it to gtest or catch2";
            Err(ToolError::new("BAD_ARGUMENTS", message))
        }
        () if looks_python => Ok(Framework::Pytest),
        () if has("Cargo.toml") => Ok(Framework::Cargo),
        () if has("CTestTestfile.cmake") => Ok(Framework::Ctest),
        () => {
            let message = format!(
                "no Cargo.toml and no CTestTestfile.cmake in {}; set `dir` to a cargo package or a \
                 CMake build folder, or `program` and `framework`",
                folder.display()
            );
            Err(ToolError::new("NO_TESTS", message))
        }
    }
}

/// Returns the command of a test of an executable.
fn of_program(input: &Test, framework: Framework) -> Result<Plan, ToolError> {
    let Some(program) = input.program.clone() else {
        let message = "`program` is missing; set it to the test's executable";
        return Err(ToolError::new("BAD_ARGUMENTS", message));
    };
    let mut args = match framework {
        Framework::Catch2 => vec![input.name.clone(), "--break".to_owned()],
        _ => vec![
            format!("--gtest_filter={}", input.name),
            "--gtest_break_on_failure".to_owned(),
        ],
    };
    args.extend(input.args.iter().cloned());
    Ok(Plan {
        program,
        args,
        cwd: input.dir.clone(),
        env: BTreeMap::new(),
    })
}

/// Returns the command of a test of pytest, whose native code is debugged.
///
/// # Errors
/// There is no interpreter.
async fn of_python(input: &Test, folder: &Path) -> Result<Plan, ToolError> {
    let named = input.program.as_deref().unwrap_or("python3");
    // What is called so may be a script that starts the interpreter.
    let script = ["-c", "import sys; print(sys.executable)"];
    let asked = build::run(folder, named, &script).await?;
    let python = asked.stdout.trim();
    if !asked.success || python.is_empty() {
        return Err(build::failed(&format!("{}{}", asked.stdout, asked.stderr)));
    }
    let mut args = ["-m", "pytest", "-x", "-s"].map(str::to_owned).to_vec();
    args.push(input.name.clone());
    args.extend(input.args.iter().cloned());
    Ok(Plan {
        program: python.to_owned(),
        args,
        cwd: input.dir.clone(),
        env: BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_of_an_executable_is_selected_and_breaks_at_its_failure() {
        let input = Test {
            name: "Suite.Case".to_owned(),
            program: Some("/bin/tests".to_owned()),
            args: vec!["--seed=1".to_owned()],
            ..Test::default()
        };
        let plan = of_program(&input, Framework::Gtest).unwrap();
        let args = [
            "--gtest_filter=Suite.Case",
            "--gtest_break_on_failure",
            "--seed=1",
        ];
        assert_eq!(plan.args, args);
        let plan = of_program(&input, Framework::Catch2).unwrap();
        assert_eq!(plan.args, ["Suite.Case", "--break", "--seed=1"]);
        assert_eq!(guess(&input).unwrap_err().code, "BAD_ARGUMENTS");
    }
}
