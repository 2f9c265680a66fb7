// The page of a tracepoint: draws what the extension sends, and sends clicks.

import { line } from "../traces/chart";
import type { Bars, Grid, Model, Request } from "../traces/model";
import { drawn, element, link, texts } from "./elements";

declare function acquireVsCodeApi(): { postMessage(request: Request): void };

const api = acquireVsCodeApi();
const send = (request: Request) => api.postMessage(request);
const main = document.querySelector("main");

/** Size of the drawing of rates, in its own units. */
const [WIDTH, HEIGHT] = [600, 90];

/** A number with its unit, or nothing. */
const NUMBER = /^(?:-?\d[\d.,]*(?:e[-+]\d+)?(?: ?[a-zµ%]+)?)?$/i;

function section(title: string, part: string | undefined, ...inside: Node[]): HTMLElement {
  const head = element("h2", "", title);
  if (part !== undefined) {
    head.append(link("Export CSV", () => send({ part })));
  }
  return element("section", "", head, ...inside);
}

function rates(model: Model): Node[] {
  const { path, most, from, to } = line(model.rates, WIDTH, HEIGHT);
  if (path === "") {
    return [];
  }
  const drawing = drawn(
    "svg",
    { viewBox: `0 -2 ${WIDTH} ${HEIGHT + 4}`, preserveAspectRatio: "none", class: "rates", role: "img" },
    drawn("path", { d: `${path} L${WIDTH} ${HEIGHT} L0 ${HEIGHT} Z`, class: "area" }),
    drawn("path", { d: path, class: "line" }),
  );
  drawing.setAttribute("aria-label", `at most ${most}`);
  const axis = element("div", "axis", element("span", "", from), element("span", "", to));
  return [section("hits per second", "rate", element("div", "most", most), drawing, axis)];
}

function bars({ title, bars, part }: Bars): Node {
  const most = Math.max(...bars.map(({ count }) => count), 1);
  const rows = bars.map(({ label, count, text }) => {
    const bar = drawn("rect", { width: (100 * count) / most, height: 10, class: "bar" });
    const drawing = drawn("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bars" }, bar);
    return element(
      "tr",
      "",
      element("td", "name", label),
      element("td", "drawing", drawing),
      element("td", "number", text),
    );
  });
  return section(title, part, element("table", "histogram", ...rows));
}

function grid({ title, header, rows, note, part }: Grid): Node {
  const isNumber = header.map((_, at) => rows.every((row) => row[at].every(({ text }) => NUMBER.test(text))));
  const head = element(
    "tr",
    "",
    ...header.map((text, at) => element("th", isNumber[at] ? "number" : "", text)),
  );
  const goTo = (target: Parameters<Parameters<typeof texts>[1]>[0]) => send({ target });
  const body = rows.map((row) =>
    element(
      "tr",
      "",
      ...row.map((cell, at) => element("td", isNumber[at] ? "number" : "", ...texts(cell, goTo))),
    ),
  );
  const table = element("table", "grid", element("thead", "", head), element("tbody", "", ...body));
  return section(title, part, table, ...(note === undefined ? [] : [element("p", "note", note)]));
}

function show(model: Model): void {
  const { place, target, query, status, message } = model;
  const name = target === undefined ? place : link(place, () => send({ target }));
  const parts: Node[] = [
    element("h1", "", name, element("code", "", query)),
    element("p", "status", status),
    ...(message === undefined ? [] : [element("p", "note", message)]),
    ...rates(model),
    ...model.tables.map(grid),
    ...model.histograms.map(bars),
    ...(model.records === undefined ? [] : [grid(model.records)]),
  ];
  // The page keeps its place while numbers change.
  const { scrollX, scrollY } = window;
  main?.replaceChildren(...parts);
  window.scrollTo(scrollX, scrollY);
}

/** A click ends on the element that it began on: nothing is replaced in between. */
let isPressed = false;
let waiting: Model | undefined;
document.addEventListener("pointerdown", () => (isPressed = true));
document.addEventListener("click", () => {
  isPressed = false;
  if (waiting !== undefined) {
    show(waiting);
    waiting = undefined;
  }
});
document.addEventListener("pointercancel", () => (isPressed = false));

window.addEventListener("message", ({ data }: MessageEvent<Model>) => {
  if (isPressed) {
    waiting = data;
  } else {
    show(data);
  }
});
send({ ready: true });
