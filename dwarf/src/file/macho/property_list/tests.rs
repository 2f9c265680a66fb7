use super::*;
use std::process::Command;

/// Writes random lists in both formats, and the values as text.
const WRITER: &str = r#"
import plistlib, random, sys, os
random.seed(int(sys.argv[2]))
texts = ["", "a", "/build/x.c", "<&>\"'", "é", "日本", "\U0001f600", "x" * 14, "x" * 15, "y" * 300, "é" * 15, "z" * 3000]
numbers = [0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32, 2**63 - 1, -2**63]
def value(depth):
    kind = random.randrange(6 if depth < 6 else 3)
    if kind < 2: return random.choice(texts)
    if kind == 2: return random.choice(numbers)
    if kind == 3: return [value(depth + 1) for _ in range(random.choice([0, 1, 3, 14, 15, 20]) if depth < 2 else random.randrange(3))]
    return {text + str(number): value(depth + 1) for number, text in enumerate(random.sample(texts, random.randrange(5)))}
def shown(value):
    if isinstance(value, str): return "T" + value.encode().hex()
    if isinstance(value, int): return "I%d" % value
    if isinstance(value, list): return "[" + "".join(shown(it) + "," for it in value) + "]"
    return "{" + "".join(key.encode().hex() + ":" + shown(value[key]) + "," for key in value) + "}"
for number in range(100):
    it = value(0)
    base = os.path.join(sys.argv[1], str(number))
    for name, format in ("xml", plistlib.FMT_XML), ("binary", plistlib.FMT_BINARY):
        with open(base + "." + name, "wb") as file: plistlib.dump(it, file, fmt=format, sort_keys=False)
    with open(base + ".text", "w") as file: file.write(shown(it))
"#;

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("T{}", hex(text)),
        Value::Integer(number) => format!("I{number}"),
        Value::Array(values) => {
            let values: String = values.iter().map(|it| shown(it) + ",").collect();
            format!("[{values}]")
        }
        Value::Dictionary(pairs) => {
            let pair = |(key, value): &(String, Value)| format!("{}:{},", hex(key), shown(value));
            let pairs: String = pairs.iter().map(pair).collect();
            format!("{{{pairs}}}")
        }
        Value::Other => "other".to_owned(),
    }
}

#[test]
fn random_lists_of_both_formats_are_what_python_wrote() {
    if !skips::has_command("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let seed = std::process::id().to_string();
    let mut writer = Command::new("python3");
    let status = writer.args(["-c", WRITER]).arg(folder.path()).arg(&seed);
    assert!(status.status().unwrap().success(), "seed {seed}");
    for number in 0..100 {
        let read = |kind: &str| std::fs::read(folder.path().join(format!("{number}.{kind}")));
        let wanted = String::from_utf8(read("text").unwrap()).unwrap();
        for kind in ["xml", "binary"] {
            let bytes = read(kind).unwrap();
            let value = Value::parse(&bytes).unwrap();
            assert_eq!(shown(&value), wanted, "{kind} {number} of seed {seed}");
            // Whatever is broken of it, there is an answer.
            for at in 0..bytes.len().min(300) {
                let mut broken = bytes.clone();
                let from_end = broken.len() - 1 - at;
                broken[from_end] = broken[from_end].wrapping_mul(31).wrapping_add(1);
                let _ = Value::parse(&broken);
                if number < 20 {
                    let _ = Value::parse(&bytes[..from_end]);
                }
            }
        }
    }
}

/// A binary list of some objects, of which the first one is the outermost.
fn binary(objects: &[&[u8]]) -> Vec<u8> {
    let mut bytes = b"bplist00".to_vec();
    let mut offsets = Vec::new();
    for object in objects {
        offsets.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        bytes.extend(*object);
    }
    let table = bytes.len() as u64;
    bytes.extend(offsets);
    bytes.extend([0, 0, 0, 0, 0, 0, 4, 1]);
    for number in [objects.len() as u64, 0, table] {
        bytes.extend(number.to_be_bytes());
    }
    bytes
}

#[test]
fn kinds_without_use_do_not_hide_others() {
    // A date, data, a boolean, a fraction, a reference and 16 bytes, then text.
    let date = [0x33, 0, 0, 0, 0, 0, 0, 0, 0];
    let wide = [0x14, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0];
    let list = binary(&[
        &[0xa7, 1, 2, 3, 4, 5, 6, 7],
        &date,
        &[0x42, 1, 2],
        &[0x09],
        &[0x22, 0, 0, 0, 0],
        &[0x80, 3],
        &wide,
        b"\x52ok",
    ]);
    let Ok(Value::Array(values)) = Value::parse(&list) else {
        panic!("no array");
    };
    assert_eq!(values.len(), 7);
    assert!(values[..6].iter().all(|value| *value == Value::Other));
    assert_eq!(values[6].text(), Some("ok"));
    let xml =
        "<plist><array><date>x</date><true/><dict/><string/><string>ok</string></array></plist>";
    let Ok(Value::Array(values)) = Value::parse(xml.as_bytes()) else {
        panic!("no array");
    };
    assert_eq!(values[0], Value::Other);
    assert_eq!(values[1], Value::Other);
    assert_eq!(values[2], Value::Dictionary(Vec::new()));
    assert_eq!(values[3].text(), Some(""));
    assert_eq!(values[4].text(), Some("ok"));
}

#[test]
fn lists_without_an_end_are_refused() {
    // An array in itself, and arrays of arrays whose elements are 15^16 texts.
    assert!(Value::parse(&binary(&[&[0xa1, 0]])).is_err());
    let arrays: Vec<Vec<u8>> = (1..12u8)
        .map(|next| [0xae].into_iter().chain([next; 14]).collect())
        .collect();
    let mut objects: Vec<&[u8]> = arrays.iter().map(|array| &**array).collect();
    objects.push(b"\x51x");
    let error = Value::parse(&binary(&objects)).unwrap_err();
    assert!(error.contains("values"), "{error}");
    // One long text, many times.
    let mut long = vec![0x5f, 0x11, 0x40, 0];
    long.extend([b'x'; 0x4000]);
    let many: Vec<u8> = [0xaf, 0x11, 4, 0].into_iter().chain([1; 0x400]).collect();
    let error = Value::parse(&binary(&[&many, &long])).unwrap_err();
    assert!(error.contains("bytes of text"), "{error}");
    for (start, end) in [("<dict><key>a</key>", "</dict>"), ("<array>", "</array>")] {
        let deep = start.repeat(100_000) + &end.repeat(100_000);
        assert!(Value::parse(deep.as_bytes()).is_err());
    }
}
