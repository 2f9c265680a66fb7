"""What `stillpoint mcp` is asked."""

NAME = "stillpoint"


def command(tools):
    """The command of the server; `tools` names what was found or installed."""
    return [tools["stillpoint"], "mcp"]


def environment(_):
    """Variables that the server needs."""
    return {}


def held(bug, **more):
    """Starts the program, which is held before its first instruction unless it has `breakpoints`."""
    return "debug_launch", {"program": str(bug.program), **more}


def explain(bug):
    """Runs the program until it crashes or hangs, explained."""
    timeout = {"timeout": 1} if bug.hangs else {}
    return "debug_explain", {"program": str(bug.program), **timeout}


def trace_call(bug, function, **how):
    """One call of a function of a fresh program, told whole."""
    return "debug_trace_call", {"program": str(bug.program), "function": function, **how}


def explained(bug):
    """A crash or a hang."""
    yield explain(bug)


def traced(function, **how):
    """A wrong result: one call."""
    def script(bug):
        yield trace_call(bug, function, **how)
    return script


def explained_then_traced(function, **how):
    """A crash or a hang, and then the call that made what it met."""
    def script(bug):
        yield explain(bug)
        yield trace_call(bug, function, **how)
    return script


def unterminated(bug):
    """Which record is not added, and how it was filled."""
    yield trace_call(bug, "add", condition="record->amount == 900")
    yield trace_call(bug, "fill", condition="amount == 900")


def endless(bug):
    """The timer that is fired again and again, where it is armed."""
    yield explain(bug)
    yield "debug_continue", {"action": "run-to", "to": "wheel.c:%d" % bug.line("if (timer->period != 1) {")}


def not_overridden(bug):
    """Whether the override runs, and what runs instead."""
    yield held(bug, breakpoints=["Bulky::cost"])
    yield trace_call(bug, "total", depth=1)


def loaded_twice(bug):
    """Which threads load the registry."""
    yield held(bug, breakpoints=["Registry::load"])
    yield "debug_continue", {}
    yield "debug_evaluate", {"expression": "Registry::instance_"}


def moved_bytes(bug):
    """Whether the buffer grows while handles to it exist."""
    line = bug.line("Word { bytes: self.bytes[begin..].as_ptr()")
    yield held(bug)
    yield "debug_trace", {"action": "add", "location": f"arena.rs:{line}", "query": "begin, self.bytes.capacity()"}
    yield "debug_continue", {}


def written_last(bug):
    """What has written the wrong balance, from the place that reports it."""
    yield held(bug, record=True, breakpoints=["report_wrong"])
    yield "debug_continue", {"written": "account->balance"}


def wrong_call(bug):
    """Which call of the surcharge is too high, and what it does."""
    yield "debug_calls", {"program": str(bug.program), "where": "function = surcharge and returned > 10"}
    yield trace_call(bug, "surcharge", condition="kind == 2")


SCRIPTS = {
    "01-unit-lookup": explained_then_traced("find_unit", condition="name[0] == 'k'"),
    "02-ring-buffer": traced("ring_drop_below"),
    "03-tag-copy": unterminated,
    "04-bank-deadlock": explained,
    "05-letter-count": traced("hash"),
    "06-frame-sum": traced("frame_ticks"),
    "07-lru-evict": explained_then_traced("evict"),
    "08-retry-policy": traced("read_policy"),
    "09-matrix-product": traced("cell", condition="row == 1 && matrix->columns == 3"),
    "10-job-queue": explained_then_traced("submit", condition="job->priority < 0"),
    "11-timer-wheel": endless,
    "12-port-setting": traced("read_listener"),
    "13-json-depth": explained,
    "14-event-bus": traced("Bus::publish"),
    "15-retry-lambda": traced("Scheduler::run", depth=1),
    "16-session-log": traced("Registry::open"),
    "17-shipping-cost": not_overridden,
    "18-shared-buffer": explained_then_traced("longest", depth=1),
    "19-header-view": traced("parse"),
    "20-price-cache": traced("Prices::price", condition="customer.level == 0 && amount == 10"),
    "21-lazy-registry": loaded_twice,
    "22-missed-wakeup": explained,
    "23-normalize": traced("Series::operator/="),
    "24-country-table": explained_then_traced("read_orders"),
    "25-version-search": explained,
    "26-observer-cell": explained,
    "27-page-range": explained,
    "28-cache-lock": explained,
    "29-merge-ranges": traced("ranges::merge"),
    "30-arena-handle": moved_bytes,
    "31-account-note": written_last,
    "32-parcel-fee": wrong_call,
    "33-slot-release": explained,
}
