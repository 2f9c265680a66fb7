#![no_main]
#![doc = "See `targets::info`."]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stillpoint_fuzz::bounded(data, stillpoint_fuzz::targets::info);
});
