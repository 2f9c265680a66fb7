//! Children of the debuggee that have a copy of its memory.

use super::*;

#[test]
fn child_of_a_called_function_keeps_the_whole_trap_behind_it() {
    let (mut debugger, fake) = running_of_fake_set();
    let sites = &mut debugger.inferior.sites;
    sites.add(SITE, Owner::Suspended, &fake);
    sites.add(SITE + 8, Owner::Loader, &fake);
    let process = debugger.inferior.process.as_mut().unwrap();
    process.call_return = Some(SITE);
    let child = ThreadId(20);
    {
        let mut script = fake.0.borrow_mut();
        script.strangers.insert(child, child.0);
        script.stops.extend([
            (LEADER, ThreadEvent::Forked(child.0)),
            (child, ThreadEvent::Interrupted),
        ]);
    }
    assert!(next_stop(&mut debugger).is_none());
    let log = fake.0.borrow().log.clone();
    let cleaned = |addr: LoadAddr| {
        log.iter()
            .any(|it| it.starts_with(&format!("clean 20 {addr}")))
    };
    for byte in 0..4 {
        assert!(!cleaned(SITE + byte) && cleaned(SITE + 8 + byte), "{log:?}");
    }
}
