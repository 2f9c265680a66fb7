// What a person does with a Rust folder, and what is shown then.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { say, until } from "./editor.mjs";

const SOURCE = "src/main.rs";
const { SCREENSHOT } = process.env;

export async function debugs(editor) {
  const { page } = editor;
  await editor.open("src", "main.rs");
  const call = editor.lineOf(SOURCE, "item.price();");
  const sum = editor.lineOf(SOURCE, "sum += price;");
  await editor.setBreakpoint(call);
  say("a click in the gutter sets a breakpoint");

  await page.keyboard.press("F5");
  await page.locator(".debug-toolbar").waitFor({ timeout: 120_000 });
  await editor.stopsAt(call);
  say("F5 builds with cargo, without a launch.json, and stops at the line");
  assert.equal(await page.locator(".editor-instance .inline-breakpoint-widget").count(), 0);
  say("a breakpoint is one dot");

  await editor.makeRoomForVariables();
  await editor.shows("sum", "0");
  await editor.shows("discount", "50");
  say("variables are shown");
  await editor.variable("order").click();
  await page.keyboard.press("ArrowRight");
  await editor.shows("customer", '"Ada"');
  await page.mouse.move(640, 700);
  say("a struct opens");

  await page.keyboard.press("F10");
  await editor.stopsAt(sum);
  await editor.shows("price", "360");
  say("a step goes to the next line");

  const [x, y] = await editor.wordAt(sum, "price");
  await page.mouse.move(x, y);
  const hover = page.locator(".debug-hover-widget");
  await until("the hover", async () => (await hover.textContent()).includes("360"));
  if (SCREENSHOT) {
    await page.screenshot({ path: SCREENSHOT });
  }
  say("a hover shows the value");
  await page.mouse.move(5, 5);

  await editor.command("Stillpoint: Integers in Hex");
  await editor.shows("price", "0x168");
  await editor.command("Stillpoint: Integers in Hex");
  await editor.shows("price", "360");
  say("integers are shown in hex, and back");

  await page.keyboard.press("F5");
  await editor.stopsAt(call);
  await editor.shows("sum", "360");
  say("F5 goes on to the next pass");

  await editor.variable("sum").locator(".value").dblclick();
  const input = page.locator('[aria-label="Debug Variables"] input');
  await input.fill("1000");
  await input.press("Enter");
  await editor.shows("sum", "1000");
  say("a value is changed");

  const end = editor.lineOf(SOURCE, "matches!(order.status");
  await editor.command("Remove All Breakpoints");
  await editor.toggleBreakpoint(end);
  await page.keyboard.press("F5");
  await editor.stopsAt(end);
  await editor.console("Ada owes 1170 EUR");
  say("the program goes on with it, in cargo's environment");

  await page.keyboard.press("Shift+F5");
  await editor.noSession();
  await editor.command("Remove All Breakpoints");
  say("Shift+F5 ends the session");
}

/** A checked sum of a debug build: several places in the code of one line. */
export async function stopsOnceAPass(editor) {
  const { page } = editor;
  const sum = editor.lineOf(SOURCE, "sum += price;");
  await editor.toggleBreakpoint(sum);
  await page.keyboard.press("F5");
  await editor.stopsAt(sum);
  await editor.shows("sum", "0");
  await page.keyboard.press("F5");
  await editor.shows("sum", "360");
  await editor.stopsAt(sum);
  await page.keyboard.press("F5");
  await editor.noSession();
  await editor.command("Remove All Breakpoints");
  say("a checked sum stops once a pass");
}

export async function showsBuildErrors(editor) {
  const { page } = editor;
  const source = path.join(editor.folder, SOURCE);
  const text = fs.readFileSync(source, "utf8");
  fs.writeFileSync(source, text.replace("sum += price", "sum += price + missing"));
  await page.keyboard.press("F5");
  const notice = page.locator(".notification-toast", { hasText: "cannot find value `missing`" });
  await notice.waitFor({ timeout: 120_000 });
  await notice.getByRole("button", { name: "Show Problems" }).click();
  await page.locator(".markers-panel .monaco-list-row", { hasText: "missing" }).first().waitFor();
  say("build errors are told, and shown where they are");
}
