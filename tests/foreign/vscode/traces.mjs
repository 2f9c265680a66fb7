// Tracepoints as a person uses them: set in the gutter, seen in the view, behind the line and in a
// panel, and saved as CSV.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { say, until } from "./editor.mjs";

const SOURCE = "main.c";
const QUERY = "count(), min(order->n), mean(order->n), max(order->n), hist(order->n) by order->kind";
const { PICTURES } = process.env;

const at = (editor, text) => editor.lineOf(SOURCE, text);
/** The text behind a line. */
const behind = async (editor, line) => {
  const number = await editor.lineNumber(line).boundingBox();
  return editor.page.evaluate((y) => {
    const rows = [...document.querySelectorAll(".editor-instance .view-line")];
    const row = rows.find((it) => Math.abs(it.getBoundingClientRect().y - y) < 4);
    const parts = [...(row?.querySelectorAll("*") ?? [])];
    const texts = parts.map((it) => getComputedStyle(it, "::after").content);
    return texts
      .filter((text) => text.startsWith('"'))
      .map((text) => JSON.parse(text))
      .join("")
      .replaceAll("\u00a0", " ");
  }, number.y);
};

const number = (text) => Number(/([\d,]+) hits/.exec(text)?.[1].replaceAll(",", "") ?? "0");

/** Takes a picture for the manual, if pictures are wanted. */
async function picture(page, name, width) {
  if (!PICTURES) {
    return;
  }
  await page.setViewportSize({ width, height: 840 });
  await page.mouse.move(width / 2, 835);
  await until("a line of rates", async () => /[▁-█]{16}/.test(await row(page, "main.c:").textContent()));
  await page.screenshot({ path: path.join(PICTURES, name) });
  await page.setViewportSize({ width: 1280, height: 840 });
}

/** Makes the view wider or narrower. */
async function drag(page, by) {
  const { x, width, y } = await page.locator(".part.sidebar").boundingBox();
  await page.mouse.move(x + width, y + 300);
  await page.mouse.down();
  await page.mouse.move(x + width + by, y + 300, { steps: 5 });
  await page.mouse.up();
}

/** Chooses an item of the menu that opens left of a line's number. */
async function gutterMenu(editor, line, text) {
  const { page } = editor;
  const open = async () => {
    // The menu of a page that has just opened may lack items.
    await page.keyboard.press("Escape");
    const [x, y] = await editor.pointAtGutter(line);
    await page.mouse.click(x, y, { button: "right", delay: 100 });
  };
  await editor.choose(open, text);
}

async function writes(editor, query) {
  const input = editor.page.locator(".quick-input-widget input.input");
  await input.fill(query);
  return input;
}

async function setsTracepoints(editor) {
  const { page } = editor;
  const program = path.join(editor.folder, "market");
  spawnSync("cc", ["-g", "-o", program, path.join(editor.folder, SOURCE)], { stdio: "inherit" });
  const configuration = {
    type: "stillpoint",
    request: "launch",
    name: "Market",
    program,
    cwd: "${workspaceFolder}",
    internalConsoleOptions: "neverOpen",
  };
  fs.mkdirSync(path.join(editor.folder, ".vscode"), { recursive: true });
  const file = path.join(editor.folder, ".vscode/launch.json");
  fs.writeFileSync(file, JSON.stringify({ version: "0.2.0", configurations: [configuration] }));
  await editor.open(SOURCE);
  const line = at(editor, "sold[order->kind] +=");
  await gutterMenu(editor, line, "Add Tracepoint");
  await editor.pick("Write a query");
  await writes(editor, QUERY);
  await page.keyboard.press("Enter");
  await page.locator(".glyph-margin-widgets .codicon-debug-breakpoint-log").first().waitFor();
  say("the gutter's menu sets a tracepoint, before the program starts");
}

/** A row of the view that has a text. */
const row = (page, text) =>
  page
    .locator(".pane", { has: page.locator(".pane-header", { hasText: "Traces" }) })
    .locator(".monaco-list-row", { hasText: text })
    .first();

/** Makes room for the view. */
async function onlyTraces(editor) {
  const { page } = editor;
  // The hover of the button with the focus hides them.
  await page.locator(".view-lines").first().click();
  const header = (pane) => page.locator(".pane-header", { hasText: pane }).first();
  for (const pane of ["Variables", "Watch", "Call Stack"]) {
    if ((await header(pane).getAttribute("aria-expanded")) === "true") {
      await header(pane).click();
    }
  }
  for (const pane of ["Breakpoints", "Traces"]) {
    if ((await header(pane).getAttribute("aria-expanded")) === "false") {
      await header(pane).click();
    }
  }
}

/** The page of a panel. */
const panel = (page) => page.frameLocator("iframe.webview.ready:visible").frameLocator("#active-frame");

async function seesNumbersWhileItRuns(editor) {
  const { page } = editor;
  const line = at(editor, "sold[order->kind] +=");
  await page.keyboard.press("Control+Shift+D");
  await editor.start("Market");
  await onlyTraces(editor);
  await drag(page, 100);
  let first = 0;
  await until("hits behind the line", async () => {
    first = number(await behind(editor, line));
    return first > 0;
  });
  await until("more hits behind the line", async () => number(await behind(editor, line)) > first);
  assert.match(
    await behind(editor, line),
    /hits · order->n: 1…89, mean \d.* · APPLE 6\d %, PEAR 2\d %, PLUM 1\d %$/,
  );
  say("the line shows hits, ranges and shares, while the program runs");

  await until("the view's rate", async () =>
    /[▁-█] · [\d.]+[kM]?\/s · [\d,]+ hits/.test(await row(page, "main.c:").textContent()),
  );
  await row(page, "main.c:").locator(".monaco-tl-twistie").click();
  await until("groups", async () =>
    /hits \(6\d %\) · min\(order->n\) 1/.test(await row(page, "APPLE").textContent()),
  );
  assert.match(
    await row(page, /^order->nmin/).textContent(),
    /min 1 · mean [\d.]+ · max 89 · 1 [▁-█]+ 64…127/,
  );
  assert.match(await page.locator(".debug-breakpoints").textContent(), /:trace count\(\)|main\.c/);
  say("the view shows the rate, the groups and a histogram");
}

/** The debugger checks what is typed. */
async function checksQueries(editor) {
  const { page } = editor;
  const line = at(editor, "if (order->n > 0)");
  await gutterMenu(editor, line, "Add Tracepoint");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "hist(order->n)" }).first().waitFor();
  await editor.pick("Write a query");
  await writes(editor, "ordr->n");
  const message = page.locator(".quick-input-widget .quick-input-message");
  await until("the mistake", async () => (await message.textContent()).includes("did you mean `order`?"));
  await writes(editor, "order->n, order->customer");
  await until("no mistake", async () => !(await message.textContent()).includes("ordr"));
  await page.keyboard.press("Enter");
  await until("values behind the line", async () =>
    /last: order->n = \d+, order->customer = .*"(Ada|Grace|Linus|Margaret)"/.test(await behind(editor, line)),
  );
  say("a query is checked while it is typed, and records values");
  await picture(page, "traces.png", 1560);
}

async function opensPanel(editor) {
  const { page } = editor;
  const line = at(editor, "sold[order->kind] +=");
  await row(page, `main.c:${line}`).hover();
  await row(page, `main.c:${line}`).locator('[aria-label="Open Trace Panel"]').click();
  await panel(page).locator(".rates .line").waitFor();
  await until("histograms", async () => (await panel(page).locator(".histogram").count()) === 3);
  const first = number(`${await panel(page).locator(".status").textContent()}`);
  await until(
    "more hits in the panel",
    async () => number(await panel(page).locator(".status").textContent()) > first,
  );
  const cells = await panel(page).locator(".grid tbody tr").first().locator("td").allTextContents();
  assert.equal(cells[0], "APPLE");
  assert.match(cells.join(" "), /APPLE [\d,]+ 6\d % 1 [\d.]+ 89/);
  say("the panel has the rate, a histogram for each group, and the table");
  await picture(page, "trace-panel.png", 1700);
}

async function savesCsv(editor) {
  const { page } = editor;
  const section = panel(page)
    .locator("section", { has: page.locator(".grid") })
    .first();
  await section.locator("h2 .link").click();
  const input = page.locator(".quick-input-widget input.input");
  await until("the name of the file", async () => (await input.inputValue()).endsWith(".csv"));
  const file = path.join(editor.folder, "orders.csv");
  await input.fill(file);
  await page.keyboard.press("Enter");
  await until("the file", async () => fs.existsSync(file) && fs.readFileSync(file, "utf8").endsWith("\n"));
  const [header, ...rows] = fs.readFileSync(file, "utf8").trimEnd().split("\r\n");
  assert.equal(header, "order->kind,hits,count,min(order->n),mean(order->n),max(order->n)");
  assert.deepEqual(
    rows.map((row) => row.split(",")[0]),
    ["APPLE", "PEAR", "PLUM"],
  );
  const [, hits, count, least, , most] = rows[0].split(",");
  assert.deepEqual([hits, least, most], [count, "1", "89"]);
  say("the panel's table is saved as CSV");
}

/** Waits until the cursor is at the beginning of a function. */
const cursorIn = (editor, text) =>
  until(`the cursor in ${text}`, async () => {
    const status = await editor.page.locator("#status\\.editor\\.selection").textContent();
    const line = Number(/Ln (\d+)/.exec(status)?.[1]);
    return line > at(editor, text) && line < at(editor, text) + 4;
  });

/** From where a line is reached, and where that is. */
async function followsStacks(editor) {
  const { page } = editor;
  const line = at(editor, "if (order->n > 0)");
  await row(page, `main.c:${line}`).hover();
  await row(page, `main.c:${line}`).locator('[aria-label="Edit Tracepoint…"]').click();
  const input = await writes(editor, "count() by stack");
  await page.keyboard.press("Enter");
  await input.waitFor({ state: "hidden" });
  const opens = (of, inside) =>
    until(`what is in ${of}`, async () => {
      if (await row(page, inside).isVisible()) {
        return true;
      }
      await row(page, of).locator(".monaco-tl-twistie").click({ timeout: 1000 });
      await row(page, inside).waitFor({ timeout: 1000 });
      return true;
    });
  await opens(`main.c:${line}`, "sell_outside ← main");
  await opens("sell_outside ← main", /^main$/);
  // The last frames of this program are those of the C library.
  await row(page, /^main$/).click();
  await cursorIn(editor, "int main(");
  say("an edited query shows stacks, and a frame leads to its function");
  await row(page, `main.c:${line}`).hover();
  await row(page, `main.c:${line}`).locator('[aria-label="Open Trace Panel"]').click();
  await panel(page).locator(".grid .link", { hasText: "sell_outside" }).click();
  await cursorIn(editor, "static void sell_outside(");
  say("a frame in the panel does, too");
}

async function removesTracepoints(editor) {
  const { page } = editor;
  const line = at(editor, "if (order->n > 0)");
  await row(page, `main.c:${line}`).hover();
  await row(page, `main.c:${line}`).locator('[aria-label="Remove Tracepoint"]').click();
  await row(page, `main.c:${line}`).waitFor({ state: "detached" });
  await until(
    "one breakpoint",
    async () => (await page.locator(".glyph-margin-widgets .codicon-debug-breakpoint-log").count()) === 1,
  );
  say("the view removes a tracepoint");
}

async function timesCalls(editor) {
  const { page } = editor;
  await editor.command("Stillpoint: Add Tracepoint on a Function");
  await writes(editor, "sell_inside");
  await page.keyboard.press("Enter");
  const input = page.locator(".quick-input-widget input.input");
  await until("the query", async () => (await input.inputValue()).includes("mean(elapsed)"));
  await page.keyboard.press("Enter");
  await until("calls", async () => number(await row(page, "sell_inside").textContent()) > 0);
  await until("durations", async () => {
    if (!(await row(page, /^elapsed/).isVisible())) {
      await row(page, "sell_inside").locator(".monaco-tl-twistie").click({ timeout: 1000 });
    }
    return /^elapsedmean [\d.]+ [nµm]?s · max [\d.]+ [nµm]?s$/.test(
      await row(page, /^elapsed/).textContent(),
    );
  });
  say("a tracepoint on a function has the durations of calls");
}

async function hidesNumbers(editor) {
  const line = at(editor, "sold[order->kind] +=");
  const file = path.join(editor.folder, ".vscode/settings.json");
  fs.writeFileSync(file, JSON.stringify({ "stillpoint.traces.decorations": false }));
  await until("nothing behind the line", async () => (await behind(editor, line)) === "");
  fs.rmSync(file);
  await until("the number again", async () => number(await behind(editor, line)) > 0);
  say("a setting hides what is behind the lines");
}

async function beginsAnew(editor) {
  const { page } = editor;
  const line = at(editor, "sold[order->kind] +=");
  const before = number(await behind(editor, line));
  await page.keyboard.press("Control+Shift+F5");
  let first = 0;
  await until("fewer hits", async () => {
    first = number(await behind(editor, line));
    return first > 0 && first < before;
  });
  await until("more hits again", async () => number(await behind(editor, line)) > first);
  say("a restart begins anew");
}

async function keepsTheLastNumbers(editor) {
  const { page } = editor;
  const line = at(editor, "sold[order->kind] +=");
  fs.writeFileSync(path.join(editor.folder, "closed"), "");
  await editor.noSession();
  await editor.command("Debug Console: Focus on Debug Console View");
  await editor.console("orders:");
  const said = await page.locator(".repl .monaco-list-row", { hasText: "orders:" }).first().textContent();
  const orders = Number(/(\d+) orders:/.exec(said)[1]);
  await until("the last number", async () => number(await behind(editor, line)) === orders);
  await until("the same in the view", async () => {
    return number(await row(page, `main.c:${line}`).textContent()) === orders;
  });
  await panel(page).locator(".rates .line").waitFor();
  say("after the end the numbers are exact and stay");
  fs.rmSync(path.join(editor.folder, "closed"));
}

export const all = [
  setsTracepoints,
  seesNumbersWhileItRuns,
  checksQueries,
  opensPanel,
  savesCsv,
  followsStacks,
  removesTracepoints,
  timesCalls,
  beginsAnew,
  keepsTheLastNumbers,
  hidesNumbers,
];
