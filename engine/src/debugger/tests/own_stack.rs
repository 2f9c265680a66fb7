//! What counting must not change: the part of the stack that the program has left. And what it cannot
//! do in a second thread.

use super::live::{Live, Program, alone, when};
use crate::ids::{BreakpointId, BreakpointOptions};
use crate::stops::event::StopReason;

const SOURCE: &str = r#"
#include <pthread.h>
#include <stdlib.h>
volatile unsigned long passes, spoiled;
__attribute__((noinline)) static long fill(void) {
    volatile unsigned long left[64];
    long different = 0;
    for (int i = 0; i < 64; i++)
        left[i] = 0x5a5a5a5a5a5a5a5a;
    return different;
}
__attribute__((noinline)) static long changed(void) {
    volatile unsigned long left[64];
    long different = 0;
    for (int i = 0; i < 64; i++)
        different += left[i] != 0x5a5a5a5a5a5a5a5a;
    return different;
}
static void *work(void *count) {
    for (long i = 0; i < (long)count; i++) {
        fill();
        __atomic_fetch_add(&passes, 1, __ATOMIC_SEQ_CST); //@ hot
        spoiled += changed();
    }
    return 0;
}
int main(int argc, char **argv) {
    void *count = (void *)atol(argv[1]);
    work(count);
    if (argc > 2) {
        pthread_t other;
        pthread_create(&other, 0, work, count);
        work(count);
        pthread_join(other, 0);
    }
    return 0; //@ end
}
"#;

fn run_to(live: &mut Live<'_>, id: BreakpointId) {
    let reason = live.run();
    assert!(
        matches!(&reason, Some(StopReason::Breakpoint(at)) if *at == [id]),
        "{reason:?}"
    );
}

#[test]
fn counting_leaves_the_unused_stack_alone() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        let conditions = [when("spoiled < 1 << 20"), when("(long)$sp != 0")];
        for options in [BreakpointOptions::default()].into_iter().chain(conditions) {
            let mut live = Live::launch(&program, &["2000"]);
            let ids = live.breakpoints(&[("hot", options), ("end", Default::default())]);
            live.debugger.begin_counting([(ids[1], 1)].into());
            run_to(&mut live, ids[1]);
            assert_eq!(live.debugger.passes(ids[0]), 2000);
            assert!(live.debugger.breakpoint(ids[0]).expect("it").is_in_program);
            if cfg!(target_arch = "x86_64") {
                assert_eq!(live.global("spoiled"), 0);
            }
        }
        // The test sees what it looks for: a usual breakpoint uses the stack.
        let mut live = Live::launch(&program, &["2000"]);
        let ids = live.breakpoints(&[
            ("hot", when("passes == 1 << 20")),
            ("end", Default::default()),
        ]);
        run_to(&mut live, ids[1]);
        assert!(live.global("spoiled") > 0);
    });
}

#[test]
fn hits_are_counted_after_a_second_thread_begins() {
    alone(|| {
        let Some(program) = Program::build(SOURCE, "-O0") else {
            return;
        };
        let mut live = Live::launch(&program, &["2000", "and more"]);
        let ids = live.breakpoints(&[("hot", Default::default()), ("end", Default::default())]);
        live.debugger.begin_counting([(ids[1], 1)].into());
        run_to(&mut live, ids[1]);
        assert_eq!(live.global("passes"), 6000);
        assert_eq!(live.debugger.passes(ids[0]), 6000);
    });
}
