import * as assert from "node:assert/strict";
import { test } from "node:test";
import { line } from "../src/traces/chart";
import { parts } from "../src/traces/csv";
import { examples, valuesOf } from "../src/traces/examples";
import { History } from "../src/traces/history";
import { queryIn, withQuery } from "../src/traces/message";
import { model } from "../src/traces/model";
import { nodeOf, type Shown } from "../src/traces/nodes";
import * as numbers from "../src/traces/numbers";
import { after, type Progress } from "../src/traces/progress";
import { Recorded } from "../src/traces/recorded";
import { framesOf, functionsIn, read } from "../src/traces/reply";
import { sparkline, squeezed } from "../src/traces/sparkline";
import { range, statistics } from "../src/traces/statistics";
import { summary } from "../src/traces/summary";

const cell = (number: number) => ({ text: String(number), number });

/** A body as the debugger sends it: empty lists are missing. */
const body = {
  traces: [
    {
      id: 3,
      query: " count(), min(n), max(n), mean(n) by kind",
      location: "shop.c:41",
      path: "/src/shop.c",
      line: 41,
      verified: true,
      hits: 12_408_113,
      seconds: 1.9,
      allRecords: 0,
      tables: [
        {
          keys: ["kind"],
          keyKinds: ["value"],
          columns: ["count", "min(n)", "max(n)", "mean(n)"],
          columnKinds: [
            { aggregate: "count" },
            { aggregate: "min", value: "n" },
            { aggregate: "max", value: "n" },
            { aggregate: "mean", value: "n" },
          ],
          rows: [
            { keys: ["APPLE"], hits: 9_306_085, cells: [cell(9_306_085), cell(0), cell(64), cell(40)] },
            { keys: ["PEAR"], hits: 3_102_028, cells: [cell(3_102_028), cell(-7), cell(97), cell(44)] },
          ],
          allRows: 2,
        },
      ],
    },
  ],
};

const [shop] = read(body);

const shown = (more: Partial<Shown>): Shown => ({
  key: "k",
  place: "shop.c:41",
  query: shop.query,
  isEnabled: true,
  isRunning: true,
  ...more,
});

test("functions of stacks and paths are innermost first", () => {
  assert.deepEqual(framesOf("inner ← outer"), ["inner", "outer"]);
  assert.deepEqual(framesOf("outer → inner"), ["inner", "outer"]);
  assert.deepEqual(framesOf("main"), ["main"]);
});

test("a query is a log message and comes back", () => {
  const query = "count() by {a, b}.x where n > 3";
  assert.equal(queryIn(withQuery(query)), query);
  assert.equal(queryIn(withQuery("  ")), "count()");
  assert.equal(queryIn("{:trace}"), "");
  for (const text of [undefined, "", "n = {n}", "{:traced x}", "x {:trace x}"]) {
    assert.equal(queryIn(text), undefined, text);
  }
});

test("numbers are short, and exact where they fit", () => {
  assert.deepEqual(["12408113", "-1234", "999", "3.5", "0x10"].map(numbers.grouped), [
    "12,408,113",
    "-1,234",
    "999",
    "3.5",
    "0x10",
  ]);
  assert.deepEqual([0, 0.25, 9.999, 41.26, 999.9, 6_519_226, -1500, 0.00004].map(numbers.short), [
    "0",
    "0.25",
    "10",
    "41.3",
    "1k",
    "6.52M",
    "-1.5k",
    "4.0e-5",
  ]);
  assert.deepEqual([0, 850, 1250, 3.2e6, 5e9].map(numbers.duration), [
    "0 ns",
    "850 ns",
    "1.25 µs",
    "3.2 ms",
    "5 s",
  ]);
  assert.equal(numbers.value(2 ** 64, "18446744073709551616", undefined), "1.84e+19");
  assert.equal(numbers.value(97, "97", undefined), "97");
  assert.deepEqual(
    [
      [1, 2],
      [1, 300],
      [0, 0],
      [1, 9999],
    ].map(([part, all]) => numbers.share(part, all)),
    ["50 %", "0.3 %", "0 %", "< 0.1 %"],
  );
});

test("a key that is a text is shown without its address", () => {
  const keys = ['0x559c22ea98bc "/index.html"', "0x10"];
  const columns = { columns: ["count"], columnKinds: [{ aggregate: "count" }] };
  const table = { keys: ["path", "p"], ...columns, rows: [{ keys, hits: 4, cells: [cell(4)] }], allRows: 1 };
  const [trace] = read({ traces: [{ hits: 4, verified: true, tables: [table] }] });
  assert.equal(summary(trace), '4 hits · "/index.html", 0x10 100 %');
  const [node] = nodeOf(shown({ trace })).children;
  assert.equal(node.label, '"/index.html", 0x10');
  assert.match(node.tooltip ?? "", /^path: 0x559c22ea98bc /);
});

test("a sparkline has a block for each number, the highest is full", () => {
  assert.equal(sparkline([0, 1, 4, 8], 16), "▁▂▅█");
  assert.equal(sparkline([9, 9, 1, 2], 2), "▅█");
  assert.equal(sparkline([0, 0], 16), "▁▁");
  assert.equal(sparkline([], 16), "");
  assert.equal(squeezed([1, 1, 4, 0], 2), "▅█");
});

test("the rate is that of the last second", () => {
  const history = new History();
  assert.equal(history.rate(), undefined);
  for (const [seconds, hits] of [
    [0, 0],
    [1, 100],
    [2, 300],
    [2.5, 800],
    [3, 1300],
  ]) {
    history.add({ seconds, hits });
  }
  assert.equal(history.rate(), 1000);
  assert.deepEqual(
    history.points().map(({ rate }) => rate),
    [100, 200, 1000, 1000],
  );
});

test("a history of any length is bounded and begins anew with the program", () => {
  const history = new History();
  for (let at = 0; at < 10_000; at++) {
    history.add({ seconds: at, hits: at * 50 });
  }
  const points = history.points();
  assert.ok(points.length <= 512 && points.length > 200, String(points.length));
  assert.ok(points.every(({ rate }) => rate === 50));
  assert.equal(points.at(-1)?.seconds, 9999);
  history.add({ seconds: 0.1, hits: 5 });
  assert.deepEqual(history.points(), []);
});

test("statistics are over all rows of a table", () => {
  const [n] = statistics(shop.tables[0]);
  assert.deepEqual([n.value, n.min, n.max, n.mean], ["n", "-7", "97", "41"]);
});

test("buckets are named by the values in them", () => {
  assert.equal(range({ from: 4, to: 8, count: 1 }), "4…7");
  assert.equal(range({ from: 1, to: 2, count: 1 }), "1");
  assert.equal(range({ from: -4, to: -8, count: 1 }), "-4…-7");
  assert.equal(range({ from: 0.5, to: 1, count: 1 }), "0.5…1");
  assert.equal(range({ to: 10, count: 1 }), "< 10");
  assert.equal(range({ from: 10, count: 1 }), "≥ 10");
  assert.equal(range({ from: 1024, to: 2048, count: 1 }, "ns"), "1.02 µs…2.05 µs");
});

test("the line says hits, ranges, means and shares", () => {
  assert.equal(summary(shop), "12,408,113 hits · n: -7…97, mean 41 · APPLE 75 %, PEAR 25 %");
});

test("the line says the last values, a histogram's peak, and why there is nothing", () => {
  const records = read({
    traces: [
      {
        hits: 2,
        verified: true,
        recorded: ["n", "who"],
        allRecords: 2,
        records: [
          { time: 1, values: ["1", '"ann"'] },
          { time: 2, values: ["2", `"${"x".repeat(99)}"`] },
        ],
      },
    ],
  });
  assert.match(summary(records[0]), /^2 hits · last: n = 2, who = "x{30}…$/);
  const histogram = [
    { from: 1, to: 2, count: 1 },
    { from: 2, to: 4, count: 3 },
  ];
  const columns = { columns: ["hist(n)"], columnKinds: [{ aggregate: "hist", value: "n" }] };
  const table = { keys: [], ...columns, rows: [{ keys: [], hits: 4, cells: [{ histogram }] }], allRows: 1 };
  assert.equal(
    summary(read({ traces: [{ hits: 4, verified: true, tables: [table] }] })[0]),
    "4 hits · n: 2…3 in 75 %",
  );
  const message = "tracepoint: no member `m`";
  assert.equal(summary(read({ traces: [{ verified: false, message }] })[0]), message);
});

test("a tracepoint is a node with its groups", () => {
  const history = new History();
  history.add({ seconds: 0, hits: 0 });
  history.add({ seconds: 2, hits: 13_038_452 });
  const node = nodeOf(shown({ trace: shop, history, target: { path: "/src/shop.c", line: 41 } }));
  assert.equal(node.label, "shop.c:41");
  assert.equal(node.description, `█ · 6.52M/s · 12,408,113 hits · ${shop.query}`);
  const [n, apple, pear] = node.children;
  assert.deepEqual([n.label, n.description], ["n", "min -7 · mean 41 · max 97"]);
  assert.equal(apple.label, "APPLE");
  assert.equal(apple.description, "9,306,085 hits (75 %) · min(n) 0 · max(n) 64 · mean(n) 40");
  assert.equal(pear.label, "PEAR");
  assert.match(
    nodeOf(shown({ trace: shop, history, isRunning: false })).description ?? "",
    /^█ · 12,408,113 hits/,
  );
  assert.equal(nodeOf(shown({})).description, shop.query);
  const mistake = shown({ query: "sum()", message: "`sum` takes one value" });
  assert.equal(nodeOf(mistake).description, "`sum` takes one value · sum()");
});

test("frames of a stack and records lead to their sources", () => {
  const [trace] = read({
    traces: [
      {
        hits: 3,
        verified: true,
        recorded: ["n"],
        allRecords: 3,
        tables: [
          {
            keys: ["stack"],
            keyKinds: ["stack"],
            columns: ["count"],
            columnKinds: [{ aggregate: "count" }],
            rows: [{ keys: ["handle ← work ← main"], hits: 3, cells: [cell(3)] }],
            allRows: 40,
          },
        ],
        records: [
          { time: 1, threadId: 7, values: ["1"] },
          { time: 2, values: ["2"] },
        ],
      },
    ],
  });
  const target = { path: "/src/a.c", line: 9 };
  const [stack, more, records] = nodeOf(shown({ trace, target })).children;
  assert.equal(stack.label, "handle ← work");
  assert.deepEqual(
    stack.children.map((it) => it.target),
    ["handle", "work", "main"].map((name) => ({ function: name })),
  );
  assert.equal(more.label, "39 more");
  assert.deepEqual(functionsIn([trace, trace, shop]), ["handle", "work", "main"]);
  // The newest first.
  assert.deepEqual(
    records.children.map((it) => it.label),
    ["n = 2", "n = 1"],
  );
  assert.equal(records.children[1].description, "1.000000 s · thread 7");
  assert.deepEqual(records.children[0].target, target);
});

test("a reading is found by the breakpoint's number, or by its place", () => {
  const recorded = new Recorded();
  recorded.take(read(body));
  const place = { query: shop.query, path: "/src/shop.c", line: 41 };
  assert.equal(recorded.find("a", place)?.id, 3);
  assert.equal(recorded.find("a", { ...place, line: 42 }), undefined);
  recorded.know("b", 3);
  assert.equal(recorded.find("b", { ...place, line: 42 })?.id, 3);
  assert.equal(recorded.find("a", place), undefined);
  recorded.take(
    read({ traces: [{ id: 4, query: "count()", function: "serve", path: "/src/shop.c", line: 9 }] }),
  );
  assert.equal(recorded.find("c", { query: "count()", function: "serve" })?.id, 4);
  assert.equal(recorded.find("c", { query: "count()", function: "sell" }), undefined);
  recorded.know("d", 4, "searching");
  assert.deepEqual([recorded.knows("d"), recorded.message("d")], [true, "searching"]);
  // Disabled, and enabled under another number.
  recorded.take([]);
  assert.equal(recorded.knows("d"), false);
  assert.equal(recorded.find("b", place), undefined);
});

test("CSV has a file for each table, with quotes where they are needed", () => {
  const histogram = [
    { to: 2, count: 1 },
    { from: 2, to: 4, count: 3 },
  ];
  const [trace] = read({
    traces: [
      {
        hits: 4,
        verified: true,
        recorded: ["who"],
        allRecords: 1,
        tables: [
          {
            keys: ["name"],
            columns: ["max(n)", "hist(n)"],
            columnKinds: [
              { aggregate: "max", value: "n" },
              { aggregate: "hist", value: "n" },
            ],
            rows: [{ keys: ['"a,b"'], hits: 4, cells: [cell(3), { histogram }] }],
            others: { keys: [], hits: 2, cells: [cell(9), {}] },
            allRows: 1,
          },
        ],
        records: [{ time: 0.5, threadId: 7, values: ["line\nbreak"] }],
      },
    ],
  });
  const files = parts(trace, [{ seconds: 1, rate: 4 }]);
  assert.deepEqual(
    files.map(({ name }) => name),
    ["table", "hist-2", "records", "rate"],
  );
  assert.deepEqual(
    files.map(({ title }) => title),
    ["max(n) by name", "hist(n) by name", "the last records", "hits per second"],
  );
  assert.equal(files[0].text, 'name,hits,max(n)\r\n"""a,b""",4,3\r\n(others),2,9\r\n');
  assert.equal(files[1].text, 'name,from,to,count\r\n"""a,b""",,2,1\r\n"""a,b""",2,4,3\r\n');
  assert.equal(files[2].text, 'time,thread,who\r\n0.5,7,"line\nbreak"\r\n');
  assert.equal(files[3].text, "seconds,hits_per_second\r\n1,4\r\n");
});

test("the values of a line are what it uses, not what it declares or calls", () => {
  for (const [line, values] of [
    ["    sink += order->n; // n", ["sink", "order->n"]],
    ["int sum = twice(first) + b.c;", ["first", "b.c"]],
    ["const Order *order = queue.front();", ["queue"]],
    ["let price = item.price() + tax;", ["item", "tax"]],
    ["for item in &order.items {", ["order.items"]],
    ["for (int i = 0; i < count; i++)", ["i", "count"]],
    ["static void handle(const struct order *order) {", ["order"]],
    ['printf("%d %s\\n", level, "x = y");', ["level"]],
    ["return a * b == 'c';", ["a", "b"]],
    ["    a * b * 10u + std::max(x, 3);", ["a", "b", "x"]],
    ["#include <a.h>", []],
    ["} else {", []],
    ['println!("{}", total);', ["total"]],
  ] as [string, string[]][]) {
    assert.deepEqual(valuesOf(line), values, line);
  }
});

test("examples begin with a count and end with stacks", () => {
  const queries = examples("sink += order->n;").map(({ query }) => query);
  assert.equal(queries[0], "count()");
  assert.equal(queries.at(-1), "count() by stack");
  for (const query of ["sink, order->n", "count() by order->n", "hist(order->n)"]) {
    assert.ok(queries.includes(query), query);
  }
});

test("the program runs between a resume and a stop", () => {
  const event = (name: string, body = {}) => ({ type: "event", seq: 0, event: name, body });
  const response = (command: string, success = true) => ({ type: "response", seq: 0, command, success });
  const states: [ReturnType<typeof event> | ReturnType<typeof response>, Progress][] = [
    [event("initialized"), "starting"],
    [response("setBreakpoints"), "starting"],
    [response("configurationDone"), "running"],
    [event("stopped", { allThreadsStopped: true }), "stopped"],
    [response("next", false), "stopped"],
    [response("next"), "running"],
    [event("stopped", { allThreadsStopped: false }), "running"],
    [event("stopped"), "stopped"],
    [event("continued"), "running"],
    [event("exited"), "over"],
    [response("continue"), "over"],
    [event("stopped"), "over"],
    [response("restart"), "running"],
  ];
  let state: Progress = "starting";
  for (const [message, expected] of states) {
    state = after(state, message);
    assert.equal(state, expected, JSON.stringify(message));
  }
});

test("the panel has tables, histograms by group, and the last records first", () => {
  const histogram = [
    { from: 1, to: 2, count: 1 },
    { from: 2, to: 4, count: 3 },
  ];
  const [trace] = read({
    traces: [
      {
        location: "a.c:9",
        hits: 4,
        verified: true,
        recorded: ["who"],
        allRecords: 9,
        tables: [
          {
            keys: ["stack"],
            keyKinds: ["stack"],
            columns: ["count", "mean(elapsed)", "hist(n)"],
            columnKinds: [
              { aggregate: "count" },
              { aggregate: "mean", value: "elapsed", unit: "ns" },
              { aggregate: "hist", value: "n" },
            ],
            rows: [{ keys: ["f ← main"], hits: 4, cells: [cell(4), cell(1500), { histogram }] }],
            allRows: 3,
          },
        ],
        records: [
          { time: 0.5, values: ["ann"] },
          { time: 1.5, threadId: 7, values: ["bob"] },
        ],
      },
    ],
  });
  const target = { path: "/src/a.c", line: 9 };
  const { status, tables, histograms, records, hasData } = model(shown({ trace, target }));
  assert.equal(status, "4 hits");
  const [table] = tables;
  assert.deepEqual(table.header, ["stack", "hits", "share", "mean(elapsed)"]);
  assert.deepEqual(
    table.rows[0].map((cell) => cell.map(({ text }) => text)),
    [["f", "main"], ["4"], ["100 %"], ["1.5 µs"]],
  );
  assert.deepEqual(table.rows[0][0][1].target, { function: "main" });
  assert.deepEqual([table.note, table.part], ["2 more rows", "table"]);
  assert.deepEqual(histograms, [
    {
      title: "hist(n), f ← main",
      part: "hist-3",
      bars: [
        { label: "1", count: 1, text: "1 (25 %)" },
        { label: "2…3", count: 3, text: "3 (75 %)" },
      ],
    },
  ]);
  assert.deepEqual(
    records?.rows.map((row) => row.map(([{ text }]) => text)),
    [
      ["1.500000 s", "7", "bob"],
      ["0.500000 s", "", "ann"],
    ],
  );
  assert.deepEqual([records?.rows[0][0][0].target, records?.note, hasData], [target, "7 earlier ones", true]);
  const none = model(shown({}));
  assert.deepEqual([none.status, none.hasData], ["not hit yet", false]);
});

test("rates are a line from the first to the last, the highest at the top", () => {
  const points = [
    { seconds: 1, rate: 0 },
    { seconds: 2, rate: 4000 },
    { seconds: 5, rate: 1000 },
  ];
  assert.deepEqual(line(points, 400, 100), {
    path: "M0.0 100.0 L100.0 0.0 L400.0 75.0",
    most: "4k/s",
    from: "1.0 s",
    to: "5.0 s",
  });
  assert.equal(line(points.slice(0, 1), 400, 100).path, "");
});

test("a rate is shown as its intervals of time", () => {
  const histogram = [
    { from: 0, to: 5e7, count: 1 },
    { from: 5e7, to: 1e8, count: 3 },
  ];
  const [trace] = read({
    traces: [
      {
        hits: 4,
        verified: true,
        tables: [
          {
            columns: ["count", "rate"],
            columnKinds: [{ aggregate: "count" }, { aggregate: "rate", unit: "ns" }],
            rows: [{ keys: [], hits: 4, cells: [cell(4), { histogram }] }],
            allRows: 1,
          },
        ],
      },
    ],
  });
  const [bars] = model(shown({ trace })).histograms;
  assert.deepEqual(
    bars.bars.map(({ label, text }) => `${label} ${text}`),
    ["0 ns…50 ms 1 (25 %)", "50 ms…100 ms 3 (75 %)"],
  );
  const [, file] = parts(trace, []);
  assert.equal(file.text, "from,to,count\r\n0,50000000,1\r\n50000000,100000000,3\r\n");
});
