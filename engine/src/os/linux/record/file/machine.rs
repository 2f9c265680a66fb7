//! What of a machine decides whether a recording can be replayed on it: programs choose their code by the
//! features of the processor, and what they have chosen is in the recording.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Features by which compilers and libraries choose code, as `/proc/cpuinfo` names them.
const FEATURES: &[&str] = &[
    "3dnowprefetch",
    "abm",
    "adx",
    "aes",
    "amx_bf16",
    "amx_int8",
    "amx_tile",
    "avx",
    "avx2",
    "avx512_bf16",
    "avx512_bitalg",
    "avx512_fp16",
    "avx512_vbmi2",
    "avx512_vnni",
    "avx512_vp2intersect",
    "avx512_vpopcntdq",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512er",
    "avx512f",
    "avx512ifma",
    "avx512pf",
    "avx512vbmi",
    "avx512vl",
    "avx_vnni",
    "bmi1",
    "bmi2",
    "clflushopt",
    "clwb",
    "cx16",
    "erms",
    "f16c",
    "fma",
    "fma4",
    "fsgsbase",
    "fsrm",
    "gfni",
    "hle",
    "lahf_lm",
    "movbe",
    "movdir64b",
    "movdiri",
    "ospke",
    "pclmulqdq",
    "pku",
    "pni",
    "popcnt",
    "rdpid",
    "rdrand",
    "rdseed",
    "rtm",
    "serialize",
    "sha_ni",
    "sse4_1",
    "sse4_2",
    "sse4a",
    "ssse3",
    "tbm",
    "user_shstk",
    "vaes",
    "vpclmulqdq",
    "waitpkg",
    "xop",
    "xsave",
    "xsavec",
    "xsaveopt",
];

/// A machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    name: String,
    /// Its maker, family and model.
    kind: [String; 3],
    features: BTreeSet<String>,
    /// The processor that the program was on: it can ask which.
    pub processor: u32,
}

impl Machine {
    /// Returns the machine that this thread runs on.
    pub fn here() -> Machine {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        // SAFETY: the call takes no arguments.
        let processor = u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0);
        Machine::of(&text, processor)
    }

    fn of(cpuinfo: &str, processor: u32) -> Machine {
        let value = |name: &str| {
            let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(key, _)| key.trim() == name);
            found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
        };
        let flags = value("flags");
        let features = flags.split_ascii_whitespace();
        Machine {
            name: value("model name"),
            kind: ["vendor_id", "cpu family", "model"].map(value),
            features: features
                .filter(|it| FEATURES.contains(it))
                .map(str::to_owned)
                .collect(),
            processor,
        }
    }

    /// Returns why a recording of this machine cannot be replayed on another one; `None`: it can.
    pub fn difference(&self, here: &Machine) -> Option<String> {
        if self.kind != here.kind {
            return Some(format!(
                "it was recorded on another processor ({}, family {}, model {}), and this is {}, \
                 family {}, model {}; use a machine of the same kind",
                self.name, self.kind[1], self.kind[2], here.name, here.kind[1], here.kind[2]
            ));
        }
        let list = |of: &Machine, without: &Machine| {
            let more = of.features.difference(&without.features);
            let more: Vec<&str> = more.map(String::as_str).collect();
            more.join(", ")
        };
        let (missing, more) = (list(self, here), list(here, self));
        if !missing.is_empty() {
            return Some(format!(
                "the processor it was recorded on has {missing}, which is missing here; use a machine \
                 of the same kind"
            ));
        }
        (!more.is_empty()).then(|| {
            format!(
                "the processor it was recorded on has no {more}, and this one has; use a machine of \
                 the same kind"
            )
        })
    }
}

#[cfg(test)]
impl Machine {
    /// Returns one that lacks a feature of this one.
    pub fn without(mut self, feature: &str) -> Machine {
        assert!(self.features.remove(feature));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(model: u32, flags: &str) -> Machine {
        let text = format!(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\n\
             model name\t: Xeon {model}\nflags\t\t: fpu {flags}\n\nprocessor\t: 1\nmodel\t\t: 9\n"
        );
        Machine::of(&text, 1)
    }

    #[test]
    fn features_that_differ_are_named() {
        let recorded = machine(85, "avx2 avx512f ibrs");
        assert_eq!(recorded.difference(&machine(85, "ibpb avx512f avx2")), None);
        let why = recorded.difference(&machine(85, "avx2"));
        assert!(
            why.expect("a difference")
                .contains("has avx512f, which is missing")
        );
        let why = recorded.difference(&machine(85, "avx2 avx512f vaes gfni"));
        assert!(why.expect("a difference").contains("has no gfni, vaes"));
    }

    #[test]
    fn other_processor_is_named() {
        let why = machine(85, "").difference(&machine(106, ""));
        let why = why.expect("a difference");
        assert!(why.contains("(Xeon 85, family 6, model 85)"), "{why}");
        assert!(
            why.contains("this is Xeon 106, family 6, model 106"),
            "{why}"
        );
    }

    #[test]
    fn this_machine_is_like_itself() {
        let here = Machine::here();
        assert!(here.features.contains("ssse3"), "{here:?}");
        assert_eq!(here.difference(&Machine::here()), None);
    }
}
