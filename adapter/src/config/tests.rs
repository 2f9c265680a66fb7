use super::core_file::CorePlan;
use super::*;
use engine::StdioTarget;
use serde_json::json;
use std::path::{Path, PathBuf};

fn settings<T: RequestSettings>(value: Value) -> Result<Settings<T>, String> {
    let Value::Object(map) = value else {
        panic!("not an object")
    };
    read(RawSettings(map))
}

fn plan(value: Value) -> Result<LaunchPlan, String> {
    let base = [("KEEP", "1"), ("GONE", "2")].map(|(k, v)| (k.into(), v.into()));
    let settings = settings::<LaunchSettings>(value)?;
    settings.own.plan(Path::new("/base"), base.into_iter())
}

fn env_of(plan: &LaunchPlan, name: &str) -> Option<String> {
    let env = plan.launch.env.iter();
    env.filter(|(key, _)| key == name)
        .map(|(_, value)| value.to_string_lossy().into_owned())
        .next()
}

#[test]
fn defaults() {
    let plan = plan(json!({"program": "a.out", "args": null, "type": "stillpoint"})).unwrap();
    assert_eq!(plan.launch.program, Path::new("/base/a.out"));
    assert_eq!(plan.launch.cwd, Path::new("/base"));
    assert!(plan.launch.disable_aslr && plan.launch.args.is_empty());
    assert_eq!(plan.launch.stdio, [const { StdioTarget::Captured }; 3]);
    assert_eq!(env_of(&plan, "KEEP").as_deref(), Some("1"));
}

#[test]
fn arguments_are_kept_or_split() {
    let args = |value: Value| {
        let plan = plan(json!({"program": "p", "cwd": "sub", "args": value})).unwrap();
        assert_eq!(plan.launch.program, Path::new("/base/sub/p"));
        plan.launch.args
    };
    assert_eq!(
        args(json!(["a b", "", "\"q\"", 5])),
        ["a b", "", "\"q\"", "5"]
    );
    assert_eq!(args(json!("-x 'a b' \"c\\\"d\"")), ["-x", "a b", "c\"d"]);
    assert!(plan(json!({"program": "p", "args": "'"})).is_err());
}

#[test]
fn the_environment_is_changed() {
    let env = json!({"GONE": null, "NEW": "x", "N": 3});
    let changed = plan(json!({"program": "p", "env": env})).unwrap();
    assert_eq!(env_of(&changed, "GONE"), None);
    assert_eq!(env_of(&changed, "NEW").as_deref(), Some("x"));
    assert_eq!(env_of(&changed, "N").as_deref(), Some("3"));
    assert_eq!(changed.env_changes["GONE"], None);
    let list = plan(json!({"program": "p", "env": ["A=b=c"]})).unwrap();
    assert_eq!(env_of(&list, "A").as_deref(), Some("b=c"));
    assert!(plan(json!({"program": "p", "env": ["A"]})).is_err());
}

#[test]
fn an_env_file_comes_before_env() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("vars");
    std::fs::write(
        &file,
        "# remark\nA=1\nB='two words' # x\nexport C = x y # z\n\nD=\"a # b\"\nE=\n",
    )
    .unwrap();
    let read = plan(json!({"program": "p", "envFile": file, "env": {"A": "9"}})).unwrap();
    assert_eq!(env_of(&read, "A").as_deref(), Some("9"));
    assert_eq!(env_of(&read, "B").as_deref(), Some("two words"));
    assert_eq!(env_of(&read, "C").as_deref(), Some("x y"));
    assert_eq!(env_of(&read, "D").as_deref(), Some("a # b"));
    assert_eq!(env_of(&read, "E").as_deref(), Some(""));
    let missing = plan(json!({"program": "p", "envFile": "/none"})).unwrap_err();
    assert!(missing.contains("envFile"), "{missing}");
}

#[test]
fn redirection() {
    let list = plan(json!({"program": "p", "stdio": [null, "out", "/dev/null"]})).unwrap();
    let file = StdioTarget::File("out".into());
    assert_eq!(
        list.launch.stdio,
        [StdioTarget::Captured, file, StdioTarget::Null]
    );
    let object = plan(json!({"program": "p", "stdio": {"stdin": "in"}})).unwrap();
    assert_eq!(object.launch.stdio[0], StdioTarget::File("in".into()));
    assert!(plan(json!({"program": "p", "stdio": ["", "", "", ""]})).is_err());
}

#[test]
fn what_cannot_be_recorded_is_refused_with_the_remedy() {
    let check = |value: Value| {
        let settings = settings::<LaunchSettings>(value).unwrap();
        settings.own.check_recording(&settings.common)
    };
    for (key, value, remedy) in [
        ("nonStop", json!(true), "false"),
        ("followFork", json!("both"), "parent"),
        ("console", json!("integratedTerminal"), "internalConsole"),
    ] {
        let mut all = json!({"program": "p", "record": true});
        all[key] = value;
        let error = check(all.clone()).unwrap_err();
        let remedy = format!("set `{key}` to {remedy}");
        assert!(error.contains(&remedy), "{error}");
        all["record"] = json!(false);
        assert_eq!(check(all.clone()), Ok(()));
        all["record"] = json!(true);
        all["noDebug"] = json!(true);
        assert_eq!(check(all), Ok(()));
    }
    let plan = plan(json!({"program": "p", "record": true, "noDebug": true})).unwrap();
    assert!(!plan.launch.record);
}

#[test]
fn file_of_the_recording_is_below_the_program_s_folder() {
    let plan = |record: Value| {
        let folder = std::env::temp_dir();
        plan(json!({"program": "p", "cwd": folder, "record": record}))
    };
    let file = |record: Value| plan(record).unwrap().recording;
    assert_eq!(file(json!(true)), None);
    let wanted = std::env::temp_dir().join("a.rec");
    assert_eq!(file(json!({"file": "a.rec"})), Some(wanted.clone()));
    let both = plan(json!({"file": wanted, "chaos": 7})).unwrap();
    assert_eq!(both.launch.chaos, Some(7));
    assert_eq!(both.recording, Some(wanted));
    for (wrong, remedy) in [("", "name a file in it"), ("none/a.rec", "make it")] {
        let error = plan(json!({"file": wrong})).unwrap_err();
        assert!(
            error.contains(remedy) && error.contains("`file`"),
            "{error}"
        );
    }
}

#[test]
fn chaos_has_the_seed_that_is_set_or_any() {
    let chaos = |record: Value| {
        let launch = plan(json!({"program": "p", "record": record}))
            .unwrap()
            .launch;
        (launch.record, launch.chaos)
    };
    assert_eq!(chaos(json!(true)), (true, None));
    assert_eq!(chaos(json!(false)), (false, None));
    assert_eq!(chaos(json!({})), (true, None));
    assert_eq!(chaos(json!({"chaos": 7})), (true, Some(7)));
    assert_eq!(chaos(json!({"chaos": false})), (true, None));
    assert!(matches!(chaos(json!({"chaos": true})), (true, Some(_))));
    for wrong in [
        json!("yes"),
        json!({"seed": 7}),
        json!({"chaos": -1}),
        json!({"file": true}),
    ] {
        let error = plan(json!({"program": "p", "record": wrong})).unwrap_err();
        assert!(
            error.contains("`record`") && error.contains("`chaos`"),
            "{error}"
        );
    }
}

#[test]
fn mistakes_name_the_key() {
    for (key, value) in [
        ("program", json!({})),
        ("args", json!({"a": 1})),
        ("env", json!("A=b")),
        ("stopOnEntry", json!("perhaps")),
        ("console", json!("window")),
        ("sourceMap", json!("x")),
        ("stdio", json!(5)),
        ("followForkPrograms", json!(5)),
    ] {
        let mut all = json!({"program": "p"});
        all[key] = value;
        let error = plan(all).unwrap_err();
        assert!(error.contains(key), "{key}: {error}");
    }
    assert!(plan(json!({})).unwrap_err().contains("program"));
}

#[test]
fn a_core_file_needs_no_program() {
    let core = |value: Value| {
        let settings = settings::<LaunchSettings>(value).unwrap();
        assert_eq!(settings.notes, [""; 0]);
        settings.own.core(&settings.common, Path::new("/base"))
    };
    let plan = |core: &str, program: Option<&str>| {
        Some(CorePlan {
            core: core.into(),
            program: program.map(PathBuf::from),
        })
    };
    assert_eq!(core(json!({"coreFile": "c"})), plan("/base/c", None));
    let named = json!({"core": "c", "program": "p", "cwd": "sub"});
    assert_eq!(core(named), plan("/base/sub/c", Some("/base/sub/p")));
    assert_eq!(core(json!({"program": "p", "coreFile": ""})), None);
}

#[test]
fn unknown_keys_name_the_nearest() {
    let value = json!({"program": "p", "stopAtEntry": true, "name": "x"});
    let settings = settings::<LaunchSettings>(value).unwrap();
    assert_eq!(
        settings.notes,
        ["unknown setting `stopAtEntry`; did you mean `stopAtMain`?\n"]
    );
}

#[test]
fn misspelled_keys_get_suggestions() {
    let error_of = |key: &str| {
        let settings = settings::<LaunchSettings>(json!({"program": "p", key: true})).unwrap();
        settings.notes.join("").trim_end().to_owned()
    };
    for (key, meant) in [
        ("externalConsole", "console"),
        ("terminal", "console"),
        ("runInTerminal", "console"),
        ("environment", "env"),
        ("sourceFileMap", "sourceMap"),
        ("stopAtEntry", "stopAtMain"),
        ("stopOnStart", "stopOnEntry"),
        ("maxElement", "maxElements"),
        ("programm", "program"),
        ("depth", "maxDepth"),
    ] {
        let expected = format!("unknown setting `{key}`; did you mean `{meant}`?");
        assert_eq!(error_of(key), expected);
    }
    for key in ["MIMode", "xyzzy", "visualizerFile", "sourceLanguages"] {
        assert_eq!(error_of(key), format!("unknown setting `{key}`"));
    }
}

#[test]
fn attaching() {
    let target = |value: Value| {
        let settings = settings::<AttachSettings>(value)?;
        settings.own.target(&settings.common)
    };
    assert_eq!(target(json!({"pid": 12})), Ok(Target::Pid(12)));
    assert_eq!(target(json!({"processId": "12"})), Ok(Target::Pid(12)));
    let program = Ok(Target::Program("x".to_owned()));
    assert_eq!(target(json!({"program": "x", "waitFor": true})), program);
    assert_eq!(target(json!({"processName": "x"})), program);
    // Other debuggers need the program besides the pid.
    assert_eq!(
        target(json!({"program": "x", "pid": 3})),
        Ok(Target::Pid(3))
    );
    assert!(target(json!({})).unwrap_err().contains("program"));
    assert!(target(json!({"pid": -1})).is_err());
    assert!(target(json!({"pid": "x"})).unwrap_err().contains("pid"));
    assert!(target(json!({"pid": 3, "waitFor": true})).is_err());
    let core = CorePlan {
        core: "c".into(),
        program: Some("p".into()),
    };
    let core = Ok(Target::Core(core));
    assert_eq!(target(json!({"coreFile": "c", "program": "p"})), core);
    assert!(target(json!({"coreFile": "c", "pid": 12})).is_err());
}

#[test]
fn extension_describes_all_settings() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vscode-extension/package.json");
    let package: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let attributes = &package["contributes"]["debuggers"][0]["configurationAttributes"];
    // Names of settings in other debuggers, and settings that only the extension reads.
    const ALIASES: &[&str] = &[
        "corefile",
        "core",
        "coreDumpPath",
        "processId",
        "processName",
    ];
    const EXTENSION: &[&str] = &["cargo", "cmake"];
    for (request, own) in [
        ("launch", LaunchSettings::KEYS),
        ("attach", AttachSettings::KEYS),
    ] {
        let described = attributes[request]["properties"].as_object().unwrap();
        let described = described.keys().map(String::as_str);
        let mut described: Vec<&str> = described.filter(|key| !EXTENSION.contains(key)).collect();
        let keys = own
            .iter()
            .chain(Common::KEYS)
            .copied()
            .chain(RuntimeSettings::keys());
        let mut keys: Vec<&str> = keys.filter(|key| !ALIASES.contains(key)).collect();
        described.sort_unstable();
        keys.sort_unstable();
        assert_eq!(described, keys, "{request}");
    }
}
