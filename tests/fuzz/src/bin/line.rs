#![no_main]
#![doc = "See `targets::line`."]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stillpoint_fuzz::bounded(data, stillpoint_fuzz::targets::line);
});
