//! Programs with threads: each replay has the threads run as they did.

use super::{Recorded, output_of};
use std::process::Command;
use stillpoint_tests::Fixture;

/// A thread that is interrupted has an event, so the replays have found such places.
fn assert_same_as_alone(recorded: &Recorded, source: &str) {
    let alone = output_of(&mut Command::new(Fixture::of(source).program));
    assert_eq!(recorded.stdout.as_bytes(), alone.stdout);
    assert_eq!(recorded.status, alone.status.code());
}

#[test]
fn threads_that_compute_take_turns() {
    let source = "c/record/threads/compute.c";
    let mut most = 0;
    // Snapshots are made by time, of which a busy machine gives the program little.
    for _ in 0..8 {
        let recorded = Recorded::fixture(source, &[]);
        recorded.assert_exact();
        assert_same_as_alone(&recorded, source);
        most = most.max(recorded.number(" snapshot"));
        if most >= 2 {
            break;
        }
    }
    assert!(most >= 2, "{most}");
}

#[test]
fn races_end_in_each_replay_as_they_did() {
    for _ in 0..3 {
        let recorded = Recorded::fixture("c/record/threads/racy.c", &[]);
        recorded.assert_exact();
        assert!(
            recorded.stdout.ends_with(" 2.4e+07\n"),
            "{}",
            recorded.stdout
        );
    }
}

/// A replay must not take the first of them for the place where a thread was interrupted.
#[test]
fn passages_with_the_same_registers_are_told_apart() {
    for counted_by in ["objects", "calls"] {
        let recorded = Recorded::fixture("c/record/threads/same_again.c", &[counted_by]);
        recorded.assert_exact();
        assert_eq!(recorded.stdout, "passed 300000\n", "{counted_by}");
    }
}

#[test]
fn locks_and_conditions_are_taken_in_the_same_order() {
    let recorded = Recorded::fixture("c/record/threads/locks.c", &[]);
    recorded.assert_exact();
    assert!(
        recorded
            .stdout
            .starts_with("counted 400000, read 400, order ")
    );
    assert!(recorded.stdout.ends_with("spun 1\n"), "{}", recorded.stdout);
}

/// Most of these calls wake threads without a stop.
#[test]
fn each_wake_of_a_waiting_thread_is_counted_once() {
    let source = "c/record/threads/wakes.c";
    let recorded = Recorded::fixture(source, &[]);
    recorded.assert_exact();
    assert_same_as_alone(&recorded, source);
    assert!(
        recorded.stdout.starts_with("woken as counted: 1\n"),
        "{}",
        recorded.stdout
    );
}

#[test]
fn threads_begin_and_end_as_they_did() {
    let source = "c/record/threads/lives.c";
    let recorded = Recorded::fixture(source, &[]);
    recorded.assert_exact();
    assert_same_as_alone(&recorded, source);
}

#[test]
fn a_thread_that_waits_does_not_stop_the_others() {
    for _ in 0..2 {
        let source = "c/record/threads/waits.c";
        let recorded = Recorded::fixture(source, &[]);
        recorded.assert_exact();
        assert_same_as_alone(&recorded, source);
    }
}

#[test]
fn a_thread_waits_on_when_the_last_other_one_has_ended() {
    let source = "c/record/threads/last.c";
    let recorded = Recorded::fixture(source, &[]);
    recorded.assert_exact();
    assert_same_as_alone(&recorded, source);
}

#[test]
fn threads_are_interrupted_in_code_that_they_have_just_written() {
    let source = "c/record/threads/written.c";
    let recorded = Recorded::fixture(source, &[]);
    recorded.assert_exact();
    assert_same_as_alone(&recorded, source);
}

#[test]
fn signals_reach_the_threads_that_they_reached() {
    let source = "c/record/threads/signals.c";
    let recorded = Recorded::fixture(source, &[]);
    recorded.assert_exact();
    assert_same_as_alone(&recorded, source);
}

#[test]
fn a_thread_pool_in_rust_is_recorded() {
    let source = "rust/record_pool.rs";
    let recorded = Recorded::fixture(source, &[]);
    recorded.assert_exact();
    assert_same_as_alone(&recorded, source);
}

#[test]
fn futures_and_exceptions_in_cpp_threads_are_recorded() {
    let source = "cpp/record_async.cpp";
    let recorded = Recorded::fixture(source, &[]);
    recorded.assert_exact();
    assert_same_as_alone(&recorded, source);
}

#[test]
fn what_is_not_recorded_ends_the_recording_by_name() {
    for (what, reason) in [
        ("inheritance", "priority inheritance"),
        ("execute", "executes a program while it has threads"),
        ("whole", "MSG_WAITALL"),
    ] {
        let recorded = Recorded::fixture("c/record/threads/refused.c", &[what]);
        assert_eq!(recorded.stdout, "done\n", "{what}");
        assert!(recorded.stderr.contains(reason), "{}", recorded.stderr);
        assert_eq!(recorded.number(" mismatches"), 0, "{}", recorded.stderr);
    }
}

/// Programs as they are installed.
#[test]
fn installed_programs_with_threads_are_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = (0..60_000).map(|number: u32| format!("{}\n", number.wrapping_mul(2_654_435_761)));
    std::fs::write(folder.path().join("numbers"), lines.collect::<String>()).expect("a file");
    let recorded = Recorded::of(folder.path(), &["sort", "--parallel=2", "numbers"]);
    recorded.assert_exact();
    let mut alone = Command::new("sort");
    let alone = output_of(alone.current_dir(&folder).arg("numbers"));
    assert!(recorded.stdout.as_bytes() == alone.stdout, "sorted");
    if skips::has_command("python3") {
        let script = "import threading, queue
q = queue.Queue(3)
def work(n):
    for i in range(200): q.put(n * i)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
print(sum(q.get() for _ in range(800)))
for t in threads: t.join()";
        let recorded = Recorded::of(folder.path(), &["python3", "-c", script]);
        recorded.assert_exact();
        assert_eq!(recorded.stdout, "119400\n");
    }
}

/// Records threads that pass a turn, which do the same without a recorder.
fn with_turns(arguments: &[&str]) -> Recorded {
    let source = "c/record/threads/turns.c";
    let recorded = Recorded::fixture(source, arguments);
    recorded.assert_exact();
    let mut alone = Command::new(Fixture::of(source).program);
    let alone = output_of(alone.args(arguments));
    assert_eq!(recorded.stdout.as_bytes(), alone.stdout);
    recorded
}

#[test]
fn threads_that_wait_often_are_changed_without_a_stop() {
    let recorded = with_turns(&["4", "5000"]);
    assert!(
        recorded.stdout.ends_with(", stops few\n"),
        "{}",
        recorded.stdout
    );
    assert!(
        recorded.number(" events") > 2 * 4 * 4900,
        "{}",
        recorded.stderr
    );
    let recorded = with_turns(&["4", "2000", "meet"]);
    assert!(recorded.stdout.starts_with("order "), "{}", recorded.stdout);
}

/// More threads wait than can be changed without a stop.
#[test]
fn many_threads_wait_for_each_other() {
    for arguments in [["100", "20"], ["60", "100"]] {
        let source = "c/record/threads/turns.c";
        let recorded = Recorded::fixture(source, &arguments);
        recorded.assert_exact();
        let mut alone = Command::new(Fixture::of(source).program);
        let alone = output_of(alone.args(arguments));
        let order = |text: &str| text.split(',').next().map(str::to_owned);
        let alone = String::from_utf8_lossy(&alone.stdout);
        assert_eq!(order(&recorded.stdout), order(&alone));
    }
}

#[test]
fn signals_arrive_while_threads_wait_for_each_other() {
    let recorded = with_turns(&["4", "1500", "signals"]);
    assert!(
        recorded.stdout.starts_with("signals 1, "),
        "{}",
        recorded.stdout
    );
}

#[test]
fn a_program_ends_while_its_threads_wait_for_each_other() {
    for (mode, status) in [("exit", 7), ("crash", 128 + 11), ("kill", 128 + 9)] {
        let recorded = with_turns(&["4", "3000", mode]);
        assert_eq!(recorded.status, Some(status), "{}", recorded.stderr);
        // Those of the threads until then.
        let events = recorded.number(" events");
        assert!(events > 4 * 3000 - 500, "{mode}: {}", recorded.stderr);
    }
}

#[test]
fn a_signal_for_the_process_leaves_other_threads_waiting() {
    let recorded = Recorded::fixture("c/record/threads/children.c", &[]);
    recorded.assert_exact();
    assert_eq!(recorded.stdout, "codes 90\n");
}

#[test]
fn calls_let_in_the_signals_of_their_masks() {
    let recorded = Recorded::fixture("c/record/threads/masks.c", &[]);
    recorded.assert_exact();
    assert_eq!(recorded.stdout, "caught 5\n");
}
