// Past stops as a person uses them: the buttons of the toolbar, the list, and what has changed since.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { say, until } from "./editor.mjs";

const SOURCE = "shop.c";
const { PICTURES } = process.env;

const at = (editor, text) => editor.lineOf(SOURCE, text);
const button = (page, name) => page.locator(`.debug-toolbar .action-label[aria-label^="${name}"]`);
const status = (page) => page.locator(".statusbar-item", { hasText: "Past stop" });
const rows = (page) => page.locator(".quick-input-list .monaco-list-row");
const pane = (page, name) =>
  page.locator(".pane", { has: page.locator(".pane-header", { hasText: name }) });

/** Takes a picture for the manual, if pictures are wanted. */
async function picture(page, name) {
  if (!PICTURES) {
    return;
  }
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.screenshot({ path: path.join(PICTURES, name) });
  await page.setViewportSize({ width: 1280, height: 840 });
}

/** Waits until the arrow is at a line, and the status bar shows a past stop; `number` 0: none. */
async function isAt(editor, text, number, last) {
  const { page } = editor;
  await editor.stopsAt(at(editor, text));
  await until(number === 0 ? "the present" : `past stop ${number}`, async () => {
    const shown = (await status(page).count()) === 0 ? "" : await status(page).textContent();
    return number === 0 ? shown === "" : shown.includes(`Past stop ${number} of ${last}`);
  });
}

/** Waits until the call stack describes the stop so. */
const isStop = (page, text) => pane(page, "Call Stack").getByText(text).waitFor();

async function hasNoPastAtFirst(editor) {
  const { page } = editor;
  const program = path.join(editor.folder, "shop");
  spawnSync("cc", ["-g", "-o", program, path.join(editor.folder, SOURCE)], { stdio: "inherit" });
  const configuration = {
    type: "stillpoint",
    request: "launch",
    name: "Ledger",
    program,
    cwd: "${workspaceFolder}",
    internalConsoleOptions: "neverOpen",
  };
  fs.mkdirSync(path.join(editor.folder, ".vscode"), { recursive: true });
  const file = path.join(editor.folder, ".vscode/launch.json");
  fs.writeFileSync(file, JSON.stringify({ version: "0.2.0", configurations: [configuration] }));
  await editor.open(SOURCE);
  await editor.setBreakpoint(at(editor, "int sum ="));
  await page.keyboard.press("Control+Shift+D");
  await editor.start("Ledger");
  await isAt(editor, "int sum =", 0);
  for (const name of ["Watch", "Breakpoints", "Traces"]) {
    const header = page.locator(".pane-header", { hasText: name }).first();
    if ((await header.getAttribute("aria-expanded")) === "true") {
      await header.click();
    }
  }
  assert.equal(await button(page, "Step Back").count(), 0);
  assert.equal(await button(page, "Reverse").count(), 0);
  await editor.command("Stillpoint: Past Stops");
  await page.locator(".notification-toast", { hasText: "no earlier stop is kept" }).waitFor();
  await editor.command("Notifications: Clear All Notifications");
  say("at the first stop there is no way back");
}

async function stepsBack(editor) {
  const { page } = editor;
  for (const text of ["int discount", "if (order->items", "discount = sum", "order->owed ="]) {
    await page.keyboard.press("F10");
    await isAt(editor, text, 0);
  }
  await editor.shows("discount", "36");
  await button(page, "Reverse").waitFor();
  await button(page, "Step Back").click();
  await isAt(editor, "discount = sum", 4, 5);
  await editor.shows("discount", "0");
  await button(page, "Step Back").click();
  await isAt(editor, "if (order->items", 3, 5);
  await editor.shows("discount", "0");
  await isStop(page, "Past stop 3 of 5");
  await page.locator(".notification-toast", { hasText: "memory and registers are as they were" }).waitFor();
  await editor.command("Notifications: Clear All Notifications");
  await page.mouse.move(640, 700);
  await picture(page, "past-toolbar.png");
  say("the toolbar steps back, to line and values of then");

  await button(page, "Step Over").click();
  await isAt(editor, "discount = sum", 4, 5);
  await page.keyboard.press("F10");
  await isAt(editor, "order->owed =", 0);
  await editor.shows("discount", "36");
  say("steps go forward again, to the present");
}

async function reverses(editor) {
  const { page } = editor;
  await page.keyboard.press("F5");
  await isAt(editor, "int sum =", 0);
  await button(page, "Reverse").click();
  await isAt(editor, "order->owed =", 5, 6);
  await editor.shows("discount", "36");
  await button(page, "Return to the Present").click();
  await isAt(editor, "int sum =", 0);
  await button(page, "Return to the Present").waitFor({ state: "detached" });
  say("reverse goes over a continue, and a button returns to the present");
}

async function picksFromTheList(editor) {
  const { page } = editor;
  const stack = pane(page, "Call Stack");
  await stack.hover();
  await stack.locator('[aria-label="Past Stops…"]').first().click();
  await rows(page).first().waitFor();
  const texts = await rows(page).allTextContents();
  assert.equal(texts.length, 6);
  assert.match(texts[0], /6\s+breakpoint in settle.*shop\.c:16 · present/);
  assert.match(texts[3], /3\s+step in settle.*shop\.c:18 · \d+ (ms|s) ago/);
  assert.equal(await rows(page).locator(".codicon-debug-stackframe").count(), 1);
  await editor.pick("3  step in settle");
  await isAt(editor, "if (order->items", 3, 6);
  await editor.shows("discount", "0");
  await isStop(page, "Past stop 3 of 6");
  say("the icon of the call stack lists the stops, and one of them is shown");

  await status(page).click();
  await until("the mark at the shown one", async () => {
    return (await rows(page).nth(3).locator(".codicon-debug-stackframe").count()) === 1;
  });
  await rows(page).nth(5).hover();
  await picture(page, "past-list.png");
  await page.keyboard.press("Escape");
  await rows(page).first().waitFor({ state: "hidden" });
  await isAt(editor, "if (order->items", 3, 6);
  say("the status bar opens the list, which may be left");
}

async function returnsByTheMenu(editor) {
  const { page } = editor;
  const frame = pane(page, "Call Stack").locator(".monaco-list-row", { hasText: "settle" }).first();
  const open = async () => {
    await frame.click({ button: "right" });
    await page.locator(".monaco-menu .action-item", { hasText: "Past Stops…" }).first().waitFor({ timeout: 2000 });
  };
  await editor.choose(open, "Return to the Present");
  await isAt(editor, "int sum =", 0);
  await isStop(page, "Back in the present");
  say("the menu of the call stack returns to the present");
}

async function showsWhatChanged(editor) {
  const { page } = editor;
  await editor.command("Stillpoint: Past Stops");
  await rows(page).nth(5).hover();
  await rows(page).nth(5).locator('[aria-label="What Changed Since"]').click();
  await page.locator('.tab[data-resource-name="Changes from stop 1 to stop 6"]').waitFor();
  const document = page.locator(".editor-group-container", {
    has: page.locator('.tab[data-resource-name="Changes from stop 1 to stop 6"]'),
  });
  const text = async () => (await document.locator(".view-lines").textContent()).replaceAll("\u00a0", " ");
  await until("the changes", async () => {
    const shown = await text();
    return ["earned: 0 → 324", "settled: 0 → 1", "main:", "i: 0 → 1"].every((part) => shown.includes(part));
  });
  await picture(page, "past-changes.png");
  const before = await text();
  await document.locator(".view-lines").click();
  await page.keyboard.type("x");
  await page.getByText("Cannot edit in read-only editor").first().waitFor();
  assert.equal(await text(), before);
  await editor.command("View: Close Editor");
  say("what has changed since a stop is a document that cannot be edited");
}

async function beginsAnew(editor) {
  const { page } = editor;
  await button(page, "Reverse").click();
  await isAt(editor, "order->owed =", 5, 6);
  await page.keyboard.press("Control+Shift+F5");
  await isAt(editor, "int sum =", 0);
  await button(page, "Step Back").waitFor({ state: "detached" });
  await editor.shows("order", /0x/);
  await page.keyboard.press("Shift+F5");
  await editor.noSession();
  say("a restart in the past begins without one");
}

export const all = [
  hasNoPastAtFirst,
  stepsBack,
  reverses,
  picksFromTheList,
  returnsByTheMenu,
  showsWhatChanged,
  beginsAnew,
];
