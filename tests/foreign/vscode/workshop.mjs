// What a person does with a C++ folder of CMake, and what is shown then.

import { spawn, spawnSync } from "node:child_process";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { say, until } from "./editor.mjs";

const SOURCE = "main.cpp";
const started = [];

/** Ends the programs that were started here. */
export function end() {
  for (const program of started) {
    program.kill("SIGKILL");
  }
}

const binary = (editor) => path.join(editor.folder, "build/workshop");
const at = (editor, text) => editor.lineOf(SOURCE, text);

async function buildsWithCmake(editor) {
  const { page } = editor;
  await editor.open(SOURCE);
  const line = at(editor, "int level = amount;");
  await editor.setBreakpoint(line);
  await page.keyboard.press("F5");
  await page.locator(".debug-toolbar").waitFor({ timeout: 120_000 });
  await editor.stopsAt(line);
  await editor.makeRoomForVariables();
  await editor.shows("amount", "42");
  say("F5 builds with CMake, without a launch.json, and stops at the line");
  await page.keyboard.press("Shift+F5");
  await editor.noSession();
  await editor.command("Remove All Breakpoints");
}

async function readsLaunchJson(editor) {
  const configurations = [
    {
      type: "stillpoint", request: "launch", name: "Painted", program: binary(editor),
      args: ["spray"], env: { COLOR: "blue" }, cwd: "${workspaceFolder}",
    },
    { type: "stillpoint", request: "launch", name: "Plain", program: binary(editor) },
    { type: "stillpoint", request: "launch", name: "Threads", program: binary(editor), args: ["threads"] },
    { type: "stillpoint", request: "attach", name: "Picked", pid: "${command:pickProcess}" },
    { type: "stillpoint", request: "attach", name: "Crash", coreFile: "${workspaceFolder}/core" },
  ];
  fs.mkdirSync(path.join(editor.folder, ".vscode"), { recursive: true });
  const file = path.join(editor.folder, ".vscode/launch.json");
  fs.writeFileSync(file, JSON.stringify({ version: "0.2.0", configurations }));
  const line = at(editor, "int sum = twice");
  await editor.toggleBreakpoint(line);
  await editor.start("Painted");
  await editor.stopsAt(line);
  await editor.console("mode spray, color blue");
  say("launch.json gives arguments and environment");
  await editor.page.keyboard.press("Shift+F5");
  await editor.noSession();
}

async function stepsIntoTarget(editor) {
  const { page } = editor;
  await editor.start("Plain");
  await editor.stopsAt(at(editor, "int sum = twice"));
  await editor.command("Debug: Step Into Target");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "increase" }).first().waitFor();
  await editor.pick("twice");
  await editor.stopsAt(at(editor, "return n * 2;"));
  await editor.shows("n", "21");
  say("step into target goes into the second call of a line");
}

async function watchesData(editor) {
  const { page } = editor;
  const line = at(editor, "for (int i = 0; i < 3");
  await editor.toggleBreakpoint(line);
  await page.keyboard.press("F5");
  await editor.stopsAt(line);
  await editor.command("Remove All Breakpoints");
  await editor.variable("level").click({ button: "right" });
  const item = page.locator(".monaco-menu .action-item", { hasText: "Break on Value Change" }).first();
  await item.waitFor();
  // A menu that has just opened takes no clicks.
  await until("the end of the menu", async () => {
    await item.click({ timeout: 1000 }).catch(() => undefined);
    return !(await item.isVisible());
  });
  await page.keyboard.press("F5");
  await editor.shows("level", "52");
  await editor.shows("i", "1");
  say("a data breakpoint stops where the value changes");
}

/** Still stopped there. */
async function showsMachineCode(editor) {
  const { page } = editor;
  await editor.command("Open Disassembly View");
  const view = page.locator(".disassembly-view");
  await until("instructions, with their source", async () => {
    const text = (await view.textContent()).replaceAll("\u00a0", " ");
    return text.includes("level += 10;") && /\badd\b/.test(text) && text.includes("0x");
  });
  say("the disassembly has instructions and source");
  await editor.command("View: Close Editor");
  await editor.command("Remove All Breakpoints");
  await page.keyboard.press("F5");
  await editor.console("level 52");
  await editor.noSession();
}

async function stopsThreadsByThemselves(editor) {
  const { page } = editor;
  await editor.command("Stillpoint: Toggle Non-Stop");
  await page.locator(".notification-toast", { hasText: "non-stop mode from the next session" }).waitFor();
  await editor.command("Notifications: Clear All Notifications");
  await page.locator(".pane-header", { hasText: "Call Stack" }).first().click();
  await editor.toggleBreakpoint(at(editor, "*jobs += 1;"));
  await editor.start("Threads");
  await editor.stopsAt(at(editor, "*jobs += 1;"));
  const threads = page.locator(".debug-call-stack .monaco-list-row .thread");
  await until("one thread stopped, two running", async () => {
    const texts = await threads.allTextContents();
    const stopped = texts.filter((text) => /paused/i.test(text));
    return stopped.length === 1 && texts.filter((text) => /running/i.test(text)).length === 2;
  });
  say("in non-stop mode one thread stops and the others run on");
  await page.keyboard.press("Shift+F5");
  await editor.noSession();
  await editor.command("Remove All Breakpoints");
  await editor.command("Stillpoint: Toggle Non-Stop");
  await page.locator(".notification-toast", { hasText: "all-stop mode from the next session" }).waitFor();
  await editor.command("Notifications: Clear All Notifications");
  await page.locator(".pane-header", { hasText: "Call Stack" }).first().click();
}

async function attachesToPicked(editor) {
  const { page } = editor;
  const program = spawn(binary(editor), ["wait"], { stdio: "ignore" });
  started.push(program);
  await editor.toggleBreakpoint(at(editor, "usleep(100000);"));
  for (const begin of [
    () => editor.start("Picked"),
    () => editor.command("Stillpoint: Attach to a Process"),
  ]) {
    const picking = begin();
    const input = page.locator(".quick-input-widget input.input[placeholder='The process to attach to']");
    await input.waitFor();
    await input.fill(String(program.pid));
    await editor.pick("workshop");
    await picking;
    await editor.stopsAt(at(editor, "usleep(100000);"));
    await until("turns", async () => /^\d+$/.test(await editor.variable("turns").locator(".value").textContent()));
    await page.keyboard.press("Shift+F5");
    await editor.noSession();
    assert.equal(program.exitCode, null, "the process has ended with the session");
  }
  await editor.command("Remove All Breakpoints");
  say("a picked process is attached to, and runs on afterwards");
}

async function opensCore(editor) {
  const { page } = editor;
  const core = path.join(editor.folder, "core");
  spawnSync("gdb", [
    "-nx", "-batch", "-ex", "set confirm off", "-ex", "run crash", "-ex", `generate-core-file ${core}`,
    "-ex", "kill", binary(editor),
  ]);
  if (!fs.existsSync(core)) {
    console.log("skipped: a core file (no gdb takes one)");
    return;
  }
  await editor.start("Crash");
  await editor.stopsAt(at(editor, "std::abort();"));
  await editor.shows("mode", /"crash"$/);
  say("a core file is opened where the program crashed");
  await page.keyboard.press("Shift+F5");
  await editor.noSession();
}

export const all = [
  buildsWithCmake,
  readsLaunchJson,
  stepsIntoTarget,
  watchesData,
  showsMachineCode,
  stopsThreadsByThemselves,
  attachesToPicked,
  opensCore,
];
