"""What gdb-mcp (PyPI) is asked: a server that runs gdb commands, also several in one call."""

import re

NAME = "gdb-mcp"

# `run` returns when the program stops; the server has no way to interrupt it, but gdb has Python.
INTERRUPT = ("python import threading, os, signal; "
             "threading.Timer(1, lambda: os.kill(gdb.selected_inferior().pid, signal.SIGINT)).start()")


def command(tools):
    """The command of the server."""
    return [tools["gdb-mcp"]]


def environment(_):
    """Variables that the server needs."""
    return {}


def session(bug):
    """Starts gdb; returns the session's id and the answer."""
    answer = yield "start_binary", {"binary_path": str(bug.program), "load_init": False}
    return re.search(r'"session_id": "([^"]+)"', answer)[1]


def batch(identifier, *commands):
    """Several commands in one call."""
    return "batch_commands", {"session_id": identifier, "commands": list(commands)}


def steps(*batches):
    """A script of batches; each may be planned with the answers before it only."""
    def script(bug):
        identifier = yield from session(bug)
        for commands in batches:
            yield batch(identifier, *commands)
    return script


def repeated(count, *commands):
    """Commands, again and again."""
    return commands * count


SCRIPTS = {
    # The crash and its values; then the search that returned NULL.
    "01-unit-lookup": steps(
        ("run", "bt full 2"),
        ("break find_unit if name[0] == 'k'", "run", *repeated(4, "next", "info locals"))),
    "02-ring-buffer": steps(
        ("break ring.c:31", "run", "next", "print *ring"),),
    "03-tag-copy": steps(
        ("break add if record->amount == 900", "run", "print *record", *repeated(3, "next")),
        ("break fill if amount == 900", "run", "next", "print *record")),
    "04-bank-deadlock": steps(
        (INTERRUPT, "run", "thread apply all bt", "thread 2", "frame function transfer", "print *from", "print *to"),),
    # The byte of the letter that is not counted.
    "05-letter-count": steps(
        ("break letters.c:29 if (unsigned char)*at == 0xe9", "run", "next", "print code"),),
    "06-frame-sum": steps(
        ("break frame_ticks", "run", "print *frame", "next", "print ticks"),),
    "07-lru-evict": steps(
        ("run", "bt full 2"),
        ("break evict", "run", *repeated(3, "next"), "print *page", "print **link", "next", "next")),
    "08-retry-policy": steps(
        ("break read_policy", "run", "next", "print policy", "finish"),),
    "09-matrix-product": steps(
        ("break cell if row == 1 && matrix->columns == 3", "run", "info args", "print *matrix", "finish"),),
    "10-job-queue": steps(
        (INTERRUPT, "run", "thread apply all bt", "print queue"),
        ("break submit if job->priority < 0", "run", "print *job", *repeated(5, "next"))),
    "11-timer-wheel": steps(
        (INTERRUPT, "run", "bt 3", "frame function fire_slot", "print *timer", "print *wheel", *repeated(8, "next")),),
    "12-port-setting": steps(
        ("break read_listener", "run", *repeated(3, "next"), "print *listener", "next", "print *listener"),),
    "13-json-depth": steps(
        ("run", "bt 3", "frame 2", "info locals", "print *reader"),),
    "14-event-bus": steps(
        ("break bus.cpp:30", "run", "print *it", "print sent", "next", "print *it"),),
    "15-retry-lambda": steps(
        ("break Scheduler::run", "run", "break scheduler.cpp:39", "continue", "print attempt", "print timeout",
         "bt 6"),),
    "16-session-log": steps(
        ("break Registry::open", "run", "next", "print session", "next", "print session", "next", "next"),),
    "17-shipping-cost": steps(
        ("break Bulky::cost", "break Parcel::cost", "run", "bt 2", "print *this", "continue", "bt 3", "continue",
         "bt 2", "print *this"),
        ("set print object on", "up", "print *parcel")),
    "18-shared-buffer": steps(
        ("run", "bt"),
        ("frame function Buffer::~Buffer", "print *this", "break Buffer::operator=", "run", "print *this",
         *repeated(4, "next"), "print *this")),
    "19-header-view": steps(
        ("break headers.cpp:33", "run", "continue", "next", "print headers"),),
    "20-price-cache": steps(
        ("break Prices::price if customer.level == 0 && amount == 10", "run", "info args", "next", "print key",
         "next", "print *known", *repeated(3, "next")),),
    "21-lazy-registry": steps(
        ("break Registry::load", "run", "bt 3", "continue", "bt 3", "print Registry::instance_"),),
    "22-missed-wakeup": steps(
        (INTERRUPT, "run", "thread apply all bt", "frame function Mailbox::take", "print letters_"),),
    "23-normalize": steps(
        ("break Series::operator/=", "run", "info args", *repeated(3, "next", "info args")),),
    "24-country-table": steps(
        ("run", "bt"),
        ("frame function Regions::of", "info args", "break countries.cpp:22", "run", "continue", "continue",
         "print line")),
    "25-version-search": steps(
        ("break rust_panic", "run", "bt"),
        ("frame 7", "info args", "info locals")),
    "26-observer-cell": steps(
        ("break rust_panic", "run", "bt"),),
    "27-page-range": steps(
        ("break rust_panic", "run", "bt"),
        ("frame function pages::Paging::window", "info args", "info locals")),
    "28-cache-lock": steps(
        (INTERRUPT, "run", "thread apply all bt"),),
    "29-merge-ranges": steps(
        ("break ranges.rs:24", "run", "print range", "print **last", "continue", "print range", "print **last"),),
    "30-arena-handle": steps(
        ("break arena.rs:23", "run", "print self.bytes.buf.inner.cap", "continue 8", "print self.bytes.buf.inner.cap"),),
    "31-account-note": steps(
        ("break main", "run", "watch accounts[2].balance", *repeated(2, "continue"), "info locals", "bt 2"),),
    "32-parcel-fee": steps(
        ("break surcharge if kind == 2", "run", "info args", *repeated(1, "next"), "finish"),),
    "33-slot-release": steps(
        ("run", "bt"),),
}
