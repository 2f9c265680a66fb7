import * as assert from "node:assert/strict";
import { test } from "node:test";
import { expressionAt } from "../src/past/expression";
import { rowsOfHops } from "../src/past/hops";
import { movementIn } from "../src/past/movement";
import { readChanges, readOrigin, readPast } from "../src/past/reply";
import * as text from "../src/past/text";

/** A body as the debugger sends it: four stops, of which one in the past is shown. */
const body = (shown: number) => ({
  stops: [
    { number: 9, reason: "breakpoint", function: "settle", path: "/src/shop.c", line: 80, age: 61.4 },
    { number: 10, reason: "step", function: "settle", path: "/src/shop.c", line: 86, age: 3.2 },
    { number: 11, reason: "SIGSEGV", function: "__memcpy", age: 0.25 },
    { number: 12, reason: "pause", age: 0.1, isPresent: true },
  ].map((stop) => ({ threadId: 1, reachedBy: "run", isPresent: false, ...stop, isShown: stop.number === shown })),
});
const readStops = (from: unknown) => readPast(from).stops;
const stops = readStops(body(12));
const [ninth, tenth, , twelfth] = stops;

test("the list has the latest stop first, with reason, function, line and age", () => {
  const rows = text.rows(stops).map(({ label, description }) => [label, description]);
  assert.deepEqual(rows, [
    ["$(debug-stackframe) 12  pause", "present"],
    ["$(blank) 11  SIGSEGV in __memcpy", "250 ms ago"],
    ["$(blank) 10  step in settle", "shop.c:86 · 3 s ago"],
    ["$(blank) 9  breakpoint in settle", "shop.c:80 · 61 s ago"],
  ]);
});

test("the stop that is shown has the mark, whichever it is", () => {
  const marked = (shown: number) =>
    text.rows(readStops(body(shown))).filter(({ label }) => label.startsWith("$(debug-stackframe)"));
  assert.deepEqual(marked(10).map(({ stop }) => stop.number), [10]);
  assert.deepEqual(marked(12).map(({ stop }) => stop.number), [12]);
});

test("ages are in units that fit", () => {
  const ages = [0, 0.0196, 0.94, 1, 119.4, 120, 7199, 7200, 86_400];
  const expected = ["0 ms", "20 ms", "940 ms", "1 s", "119 s", "2 min", "120 min", "2 h", "24 h"];
  assert.deepEqual(ages.map(text.age), expected);
});

test("a stop is compared with the shown one if that is later, else with the last", () => {
  const compared = (shown: number) => {
    const all = readStops(body(shown));
    return all.map((stop) => text.comparedWith(all, stop)?.number);
  };
  assert.deepEqual(compared(12), [12, 12, 12, undefined]);
  assert.deepEqual(compared(11), [11, 11, 12, undefined]);
  assert.deepEqual(compared(9), [12, 12, 12, undefined]);
});

test("the status bar shows a past stop and no other", () => {
  assert.equal(text.status({ stops }), undefined);
  assert.equal(text.status({ stops: [] }), undefined);
  assert.deepEqual(text.status(readPast(body(10))), {
    text: "$(history) Past stop 10 of 12",
    tooltip: "step in settle, shop.c:86. The program itself waits at stop 12, unchanged.",
    click: "list",
  });
});

test("the status bar shows a place in a recording, and returns from it", () => {
  const recorded = (position?: number) => readPast({ ...body(12), recording: { events: 50, position } });
  assert.equal(text.isPast(recorded()), false);
  assert.equal(text.status(recorded()), undefined);
  const past = recorded(32);
  assert.equal(text.isPast(past), true);
  const shown = text.status(past);
  assert.equal(shown?.text, "$(history) In the past: return to the present");
  assert.equal(shown?.click, "present");
  assert.match(shown?.tooltip ?? "", /^After 32 of the 50 system calls/);
});

test("changes are listed by frame, with both stops above", () => {
  const changes = readChanges({
    to: 12,
    left: ["price", "discount"],
    entered: ["print"],
    frames: [{ function: "settle", variables: [{ name: "sum", before: "4", after: "17" }] }],
    globals: [{ name: "settled", before: "3", after: "4" }],
    omitted: 2,
  });
  assert.equal(text.titleOfChanges(ninth, twelfth), "Changes from stop 9 to stop 12");
  assert.equal(
    text.textOfChanges(ninth, twelfth, changes),
    `stop  9: breakpoint in settle, shop.c:80
stop 12: pause

returned: price, discount
called: print

settle:
  sum: 4 → 17

globals:
  settled: 3 → 4

… 2 more
`,
  );
});

test("long values are below each other", () => {
  const [before, after] = ["a".repeat(60), "b".repeat(60)];
  const variables = [{ name: "name", before, after }];
  const shown = text.textOfChanges(ninth, tenth, readChanges({ frames: [{ function: "f", variables }] }));
  assert.ok(shown.endsWith(`f:\n  name:\n    before: ${before}\n    after:  ${after}\n`), shown);
});

test("no change is a sentence", () => {
  const shown = text.textOfChanges(ninth, tenth, readChanges({}));
  assert.ok(shown.endsWith("\n\nNo variable of these frames and their files has changed.\n"), shown);
});

test("a body without lists has no stops and no changes", () => {
  assert.deepEqual(readStops(undefined), []);
  assert.deepEqual(readStops({}), []);
  assert.deepEqual(text.rows([]), []);
  const none = { frames: [], entered: [], left: [], globals: [], omitted: 0 };
  assert.deepEqual(readChanges(undefined), none);
});

test("only messages that move the program or what is shown are movements", () => {
  const stopped = (reason: string, description?: string) => ({
    type: "event",
    event: "stopped",
    body: { reason, description },
  });
  const response = (command: string, success: boolean) => ({ type: "response", command, success });
  assert.equal(movementIn(stopped("goto")), "visit");
  assert.equal(movementIn(stopped("breakpoint")), "present");
  assert.equal(movementIn(stopped("breakpoint", "In the past: breakpoint")), "visit");
  assert.equal(movementIn({ type: "event", event: "continued" }), "run");
  for (const event of ["exited", "terminated"]) {
    assert.equal(movementIn({ type: "event", event }), "present");
  }
  assert.equal(movementIn(response("restart", true)), "present");
  assert.equal(movementIn(response("restart", false)), undefined);
  assert.equal(movementIn(response("stepBack", true)), undefined);
  assert.equal(movementIn({ type: "event", event: "output" }), undefined);
});

test("an expression is what the word at the cursor is selected of", () => {
  const line = "  sum += orders[i + 1].items->price * std::max(a.b, rate); // 12";
  const at = (word: string) => expressionAt(line, line.indexOf(word) + 1);
  assert.equal(at("sum"), "sum");
  assert.equal(at("orders"), "orders");
  assert.equal(at("i + 1"), "i");
  assert.equal(at("items"), "orders[i + 1].items");
  assert.equal(at("price"), "orders[i + 1].items->price");
  assert.equal(at("max"), "std::max");
  assert.equal(at("a.b"), "a");
  assert.equal(expressionAt(line, line.indexOf("a.b") + 3), "a.b");
  assert.equal(at("rate"), "rate");
  assert.equal(expressionAt(line, 0), undefined);
  assert.equal(expressionAt("", 5), undefined);
  assert.equal(expressionAt("a[b[c]]", 4), "c");
});

test("the way to the origin has value, event and place of each hop", () => {
  const origin = readOrigin({
    name: "total",
    hops: [
      { number: 1, value: "21", text: "copied from sum", function: "settle", path: "/src/shop.c", line: 8 },
      { number: 2, value: "21", text: "stored", function: "memcpy" },
      { number: 3, value: "21", text: "there from the start" },
    ],
  });
  const shown = rowsOfHops(origin).map(({ label, description }) => [label, description]);
  assert.deepEqual(shown, [
    ["1  21  copied from sum", "in settle, shop.c:8"],
    ["2  21  stored", "in memcpy"],
    ["3  21  there from the start", ""],
  ]);
  assert.deepEqual(readOrigin(undefined), { name: "", hops: [] });
});
