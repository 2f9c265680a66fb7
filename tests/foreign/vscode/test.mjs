// Does in VS Code what a person does with a Rust folder, and looks at what is shown then. Started by
// run.sh, which names the parts: CODE_SERVER, BROWSER, VSIX, FOLDER (a cargo project), WORK, and
// perhaps SCREENSHOT.

import { spawn } from "node:child_process";
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { chromium } from "playwright-core";

const { CODE_SERVER, BROWSER, VSIX, FOLDER, WORK, SCREENSHOT } = process.env;
const SOURCE = path.join(FOLDER, "src/main.rs");
const lines = fs.readFileSync(SOURCE, "utf8").split("\n");
const lineOf = (text) => 1 + lines.findIndex((line) => line.includes(text));

const USER_SETTINGS = {
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "extensions.ignoreRecommendations": true,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "editor.minimap.enabled": false,
  "workbench.colorTheme": "Default Light Modern",
};

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** A code-server of ours alone: no file of the user's is read or written. */
async function startServer() {
  const data = path.join(WORK, "data");
  fs.mkdirSync(path.join(data, "User"), { recursive: true });
  fs.writeFileSync(path.join(data, "User/settings.json"), JSON.stringify(USER_SETTINGS));
  const config = path.join(WORK, "config.yaml");
  const port = await freePort();
  fs.writeFileSync(config, `bind-addr: 127.0.0.1:${port}\nauth: none\ncert: false\n`);
  const common = [CODE_SERVER, "--config", config, "--user-data-dir", data];
  common.push("--extensions-dir", path.join(WORK, "extensions"));
  const log = fs.openSync(path.join(WORK, "server.log"), "w");
  const start = (...args) =>
    spawn(process.execPath, [...common, ...args], { stdio: ["ignore", log, log], detached: true });
  const installed = await new Promise((resolve) =>
    start("--install-extension", VSIX).on("exit", resolve),
  );
  assert.equal(installed, 0, "the extension was not installed");
  const server = start("--disable-telemetry", "--disable-update-check");
  const address = `http://127.0.0.1:${port}/`;
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${address}healthz`).catch(() => undefined);
    if (answer?.ok) {
      return { server, address };
    }
    assert.ok(tries < 300 && server.exitCode === null, "code-server does not start");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** VS Code as a page. */
class Editor {
  constructor(page) {
    this.page = page;
  }

  /** Carries out a command of the palette. */
  async command(title) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input.input");
    await input.waitFor();
    await input.fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  /** Opens a file by the explorer. */
  async open(folder, name) {
    const row = (text) => this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: text });
    await row(folder).click();
    await row(name).dblclick();
    await this.page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
    await this.lineNumber(1).waitFor();
  }

  lineNumber(line) {
    return this.page.locator(".margin .line-numbers", { hasText: new RegExp(`^${line}$`) }).first();
  }

  /** Points left of a line's number. */
  async pointAtGutter(line) {
    const margin = await this.page.locator(".editor-instance .margin").first().boundingBox();
    const number = await this.lineNumber(line).boundingBox();
    const y = number.y + number.height / 2;
    await this.page.mouse.move(margin.x + 10, y);
    await this.page.mouse.move(margin.x + 9, y);
    return [margin.x + 9, y];
  }

  async setBreakpoint(line) {
    // The hint is there as soon as VS Code knows that the language has breakpoints.
    await until("the hint of a breakpoint", async () => {
      await this.pointAtGutter(line);
      return this.page.locator(".glyph-margin-widgets .codicon-debug-hint").isVisible();
    });
    await this.page.mouse.click(...(await this.pointAtGutter(line)));
    await this.page.locator(".glyph-margin-widgets .codicon-debug-breakpoint").first().waitFor();
  }

  /** Waits until the arrow is at a line. */
  async stopsAt(line) {
    const arrow = this.page.locator(".glyph-margin-widgets .codicon-debug-stackframe, .glyph-margin-widgets .codicon-debug-breakpoint-stackframe, .glyph-margin-widgets .codicon-debug-breakpoint.codicon-debug-stackframe").first();
    await until(`the arrow at line ${line}`, async () => {
      const at = await arrow.boundingBox({ timeout: 1000 }).catch(() => null);
      const number = await this.lineNumber(line).boundingBox({ timeout: 1000 }).catch(() => null);
      return at && number && Math.abs(at.y + at.height / 2 - number.y - number.height / 2) < 4;
    });
  }

  /** Rows that are scrolled away are not in the page. */
  async makeRoomForVariables() {
    const header = (pane) => this.page.locator(".pane-header", { hasText: pane }).first();
    for (const pane of ["Watch", "Breakpoints", "Call Stack"]) {
      await header(pane).click();
    }
  }

  variable(name) {
    return this.page
      .locator('[aria-label="Debug Variables"] .monaco-list-row')
      .filter({ has: this.page.locator(".name", { hasText: new RegExp(`^${name}\\b`) }) })
      .first();
  }

  async shows(name, value) {
    await until(`${name} = ${value}`, async () => {
      const shown = await this.variable(name).locator(".value").textContent({ timeout: 1000 });
      return shown === value;
    });
  }

  /** Where a word of a line is on the screen. */
  async wordAt(line, word) {
    const number = await this.lineNumber(line).boundingBox();
    return this.page.evaluate(
      ([y, word]) => {
        const rows = [...document.querySelectorAll(".editor-instance .view-line")];
        const row = rows.find((it) => Math.abs(it.getBoundingClientRect().y - y) < 4);
        const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          const from = node.textContent.indexOf(word);
          if (from >= 0) {
            const range = document.createRange();
            range.setStart(node, from);
            range.setEnd(node, from + word.length);
            const { x, width, y, height } = range.getBoundingClientRect();
            return [x + width / 2, y + height / 2];
          }
        }
      },
      [number.y, word],
    );
  }

  async console(text) {
    await this.page.locator(".repl .monaco-list-row", { hasText: text }).first().waitFor();
  }
}

async function until(what, condition) {
  const end = Date.now() + 30_000;
  for (;;) {
    if (await condition().catch(() => false)) {
      return;
    }
    if (Date.now() > end) {
      throw new Error(`not seen within 30 s: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

let step = 0;
const say = (text) => console.log(`ok ${++step} ${text}`);

async function debugs(editor) {
  const { page } = editor;
  await editor.open("src", "main.rs");
  const call = lineOf("item.price();");
  const sum = lineOf("sum += price;");
  await editor.setBreakpoint(call);
  say("a click in the gutter sets a breakpoint");

  await page.keyboard.press("F5");
  await page.locator(".debug-toolbar").waitFor({ timeout: 120_000 });
  await editor.stopsAt(call);
  say("F5 builds with cargo, without a launch.json, and stops at the line");

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

  const end = lineOf("matches!(order.status");
  await editor.command("Remove All Breakpoints");
  await page.locator(".view-lines").first().click();
  await page.keyboard.press("Control+G");
  await page.locator(".quick-input-widget input.input").fill(`:${end}`);
  await page.keyboard.press("Enter");
  await page.keyboard.press("F9");
  await page.keyboard.press("F5");
  await editor.stopsAt(end);
  await editor.console("Ada owes 1170 EUR");
  say("the program goes on with it, in cargo's environment");

  await page.keyboard.press("Shift+F5");
  await page.locator(".debug-toolbar").waitFor({ state: "hidden" });
  say("Shift+F5 ends the session");
}

async function showsBuildErrors(editor) {
  const { page } = editor;
  fs.writeFileSync(SOURCE, lines.join("\n").replace("sum += price", "sum += price + missing"));
  await page.keyboard.press("F5");
  const notice = page.locator(".notification-toast", { hasText: "cannot find value `missing`" });
  await notice.waitFor({ timeout: 120_000 });
  await notice.getByRole("button", { name: "Show Problems" }).click();
  await page.locator(".markers-panel .monaco-list-row", { hasText: "missing" }).first().waitFor();
  say("build errors are told, and shown where they are");
}

const { server, address } = await startServer();
const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 840 } });
  page.setDefaultTimeout(30_000);
  try {
    await page.goto(`${address}?folder=${encodeURIComponent(FOLDER)}`);
    await page.locator(".monaco-workbench .explorer-folders-view").waitFor({ timeout: 60_000 });
    const editor = new Editor(page);
    await debugs(editor);
    await showsBuildErrors(editor);
    console.log("vscode: all went well");
  } catch (error) {
    await page.screenshot({ path: path.join(WORK, "failed.png") });
    throw error;
  }
} finally {
  await browser.close();
  process.kill(-server.pid);
}
