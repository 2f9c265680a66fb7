#![no_main]
#![doc = "See `targets::swift_name`."]

libfuzzer_sys::fuzz_target!(init: stillpoint_fuzz::one_thread(), |data: &[u8]| {
    stillpoint_fuzz::bounded(data, stillpoint_fuzz::targets::swift_name);
});
