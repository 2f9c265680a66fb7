// A recorded program as a person uses it: back by the buttons of the toolbar, forward again, and to the present.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { say, until } from "./editor.mjs";

const SOURCE = "shop.c";
const { PICTURES } = process.env;

const at = (editor, text) => editor.lineOf(SOURCE, text);
const button = (page, name) => page.locator(`.debug-toolbar .action-label[aria-label^="${name}"]`);
const status = (page) => page.locator(".statusbar-item", { hasText: "In the past: return to the present" });
const pane = (page, name) =>
  page.locator(".pane", { has: page.locator(".pane-header", { hasText: name }) });

/** Takes a picture for the manual, if pictures are wanted. */
async function picture(page, name) {
  if (!PICTURES) {
    return;
  }
  await page.mouse.move(640, 700);
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.screenshot({ path: path.join(PICTURES, name) });
  await page.setViewportSize({ width: 1280, height: 840 });
}

/** Waits until the arrow is at a line, and the status bar says whether that is in the past. */
async function isAt(editor, text, when) {
  const { page } = editor;
  await editor.stopsAt(at(editor, text));
  await until(`the ${when}`, async () => ((await status(page).count()) === 1) === (when === "past"));
}

/** Waits until the call stack describes the stop so. */
const isStop = (page, text) => pane(page, "Call Stack").getByText(text).waitFor();

async function recordsFromTheStart(editor) {
  const { page } = editor;
  const program = path.join(editor.folder, "shop");
  spawnSync("cc", ["-g", "-o", program, path.join(editor.folder, SOURCE)], { stdio: "inherit" });
  const configuration = {
    type: "stillpoint",
    request: "launch",
    name: "Recorded",
    program,
    record: true,
    cwd: "${workspaceFolder}",
    internalConsoleOptions: "neverOpen",
  };
  fs.mkdirSync(path.join(editor.folder, ".vscode"), { recursive: true });
  const file = path.join(editor.folder, ".vscode/launch.json");
  fs.writeFileSync(file, JSON.stringify({ version: "0.2.0", configurations: [configuration] }));
  await editor.open(SOURCE);
  await editor.setBreakpoint(at(editor, "int sum ="));
  await page.keyboard.press("Control+Shift+D");
  await editor.start("Recorded");
  await isAt(editor, "int sum =", "present");
  for (const name of ["Watch", "Breakpoints", "Traces"]) {
    const header = page.locator(".pane-header", { hasText: name }).first();
    if ((await header.getAttribute("aria-expanded")) === "true") {
      await header.click();
    }
  }
  await button(page, "Step Back").waitFor();
  await button(page, "Reverse").waitFor();
  say("a recorded program can be gone back in from its first stop on");
}

async function stepsBackByLines(editor) {
  const { page } = editor;
  for (const text of ["int discount", "if (order->items", "discount = sum", "order->owed ="]) {
    await page.keyboard.press("F10");
    await isAt(editor, text, "present");
  }
  await editor.shows("discount", "36");
  await button(page, "Step Back").click();
  await isAt(editor, "discount = sum", "past");
  await editor.shows("discount", "0");
  await button(page, "Step Back").click();
  await isAt(editor, "if (order->items", "past");
  await isStop(page, "In the past: step");
  await page.locator(".notification-toast", { hasText: "the past of the program" }).waitFor();
  await editor.command("Notifications: Clear All Notifications");
  await picture(page, "recording-step-back.png");
  say("Step Back goes by lines, to the values of then");

  await page.keyboard.press("F10");
  await isAt(editor, "discount = sum", "past");
  await page.keyboard.press("F10");
  await isAt(editor, "order->owed =", "present");
  await editor.shows("discount", "36");
  say("steps go forward again, to the present");
}

async function reversesOverContinues(editor) {
  const { page } = editor;
  for (let time = 0; time < 2; time++) {
    await page.keyboard.press("F5");
    await isAt(editor, "int sum =", "present");
  }
  await isStop(page, "Paused on breakpoint");
  await editor.setBreakpoint(at(editor, "discount = sum"));
  await button(page, "Reverse").click();
  // Of the second order nothing is discounted.
  await isAt(editor, "int sum =", "past");
  await button(page, "Reverse").click();
  await isAt(editor, "discount = sum", "past");
  await editor.shows("discount", "0");
  await editor.shows("sum", "360");
  await isStop(page, "In the past: breakpoint");
  await picture(page, "recording-reverse.png");
  say("Reverse goes to the breakpoints that were passed, also to one that was set since");
}

async function returnsToThePresent(editor) {
  const { page } = editor;
  await status(page).click();
  await isAt(editor, "int sum =", "present");
  await isStop(page, "Back in the present");
  await button(page, "Reverse").click();
  await isAt(editor, "int sum =", "past");
  await button(page, "Return to the Present").click();
  await isAt(editor, "int sum =", "present");
  await button(page, "Return to the Present").waitFor({ state: "detached" });
  await editor.command("Stillpoint: Past Stops");
  await page.locator(".notification-toast", { hasText: "Step Back and Reverse go back" }).waitFor();
  await editor.command("Notifications: Clear All Notifications");
  say("the status bar and a button return to the present");
}

async function asksForTheLastWrite(editor) {
  const { page } = editor;
  const line = at(editor, "earned +=");
  const word = async () => page.mouse.click(...(await editor.wordAt(line, "earned")), { button: "right" });
  await editor.choose(word, "Go to Last Write");
  await isAt(editor, "earned +=", "past");
  await isStop(page, "In the past: earned");
  await editor.choose(word, "Go to Last Write");
  await isAt(editor, "earned +=", "past");
  await isStop(page, "0 -> 324");
  say("the menu of the source goes to the last write of an expression, and to the one before");
  await status(page).click();
  await isAt(editor, "int sum =", "present");
}

async function asksForTheOrigin(editor) {
  const { page } = editor;
  const rows = page.locator(".quick-input-list .monaco-list-row");
  await editor.choose(() => editor.variable("order").locator(".name").click({ button: "right" }), "Go to Origin of Value");
  await isAt(editor, "settle(&orders[i])", "past");
  await rows.first().waitFor();
  const texts = await rows.allTextContents();
  assert.match(texts.at(-1), /computed.*in main, shop\.c:27/);
  await picture(page, "recording-origin.png");
  await editor.pick("passed as an argument");
  await isAt(editor, "static void settle", "past");
  say("the menu of a variable goes to where its value was computed, and lists the places in between");
  await status(page).click();
  await isAt(editor, "int sum =", "present");
}

async function stopsBeforeItExits(editor) {
  const { page } = editor;
  await page.keyboard.press("F5");
  await isAt(editor, "discount = sum", "present");
  await page.keyboard.press("F5");
  await isStop(page, "Exiting with code 0");
  await button(page, "Reverse").click();
  await isAt(editor, "discount = sum", "past");
  assert.equal(await button(page, "Return to the Present").count(), 1);
  await page.keyboard.press("F5");
  await isStop(page, "Exiting with code 0");
  await page.keyboard.press("F5");
  await editor.noSession();
  say("a recorded program stops before it exits, and can be gone back in there");
}

export const all = [
  recordsFromTheStart,
  stepsBackByLines,
  reversesOverContinues,
  returnsToThePresent,
  asksForTheLastWrite,
  asksForTheOrigin,
  stopsBeforeItExits,
];
