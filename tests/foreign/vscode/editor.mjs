// VS Code as a person has it: a server of ours alone, and the page as what can be seen and done there.

import { spawn } from "node:child_process";
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";

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
export async function startServer({ CODE_SERVER, VSIX, WORK }) {
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
  // For run.sh, which ends what this process may not live to end.
  fs.writeFileSync(path.join(WORK, "server.pid"), String(server.pid));
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
export class Editor {
  constructor(page, folder) {
    this.page = page;
    this.folder = folder;
  }

  /** The first line of a file of the folder that has a text. */
  lineOf(file, text) {
    const lines = fs.readFileSync(path.join(this.folder, file), "utf8").split("\n");
    return 1 + lines.findIndex((line) => line.includes(text));
  }

  /** Picks a row of the list that is open. */
  async pick(text) {
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
    await row.click();
  }

  /** Starts a configuration of launch.json. */
  async start(name) {
    const select = this.page.locator(".start-debug-action-item select");
    await until(`the configuration ${name}`, async () => {
      await select.selectOption({ label: name }, { timeout: 1000 });
      return true;
    });
    await this.page.keyboard.press("F5");
    await this.page.locator(".debug-toolbar").waitFor();
  }

  async noSession() {
    await this.page.locator(".debug-toolbar").waitFor({ state: "hidden" });
  }

  /** Sets or removes a breakpoint by the keyboard. */
  async toggleBreakpoint(line) {
    await this.page.locator(".view-lines").first().click();
    await this.page.keyboard.press("Control+G");
    const input = this.page.locator(".quick-input-widget input.input");
    await input.fill(`:${line}`);
    await this.page.keyboard.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    await this.page.keyboard.press("F9");
  }

  /** Carries out a command of the palette. */
  async command(title) {
    const input = this.page.locator(".quick-input-widget input.input");
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first();
    // At a stop, the source takes the focus, and the palette closes.
    await until("the palette", async () => {
      await this.page.keyboard.press("F1");
      await input.fill(`>${title}`, { timeout: 3000 });
      await row.click({ timeout: 3000 });
      return true;
    });
    // A list of the command's own may take its place.
    await until("the end of the palette", async () => {
      return !(await input.isVisible()) || !(await input.inputValue()).startsWith(">");
    });
  }

  /** Chooses a command of the menu that a right click opens. */
  async choose(rightClick, text) {
    const item = this.page.locator(".monaco-menu .action-item", { hasText: text }).first();
    // The views are drawn anew at a stop, and a menu that has just opened takes no clicks.
    await until("the menu", async () => {
      await rightClick();
      await item.waitFor({ timeout: 2000 });
      return true;
    });
    await until("the end of the menu", async () => {
      await item.click({ timeout: 1000 });
      await item.waitFor({ state: "hidden", timeout: 2000 });
      return true;
    });
  }

  /** Opens a file by the explorer. */
  async open(...names) {
    const row = (text) => this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: text });
    const name = names.pop();
    for (const folder of names) {
      await row(folder).click();
    }
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
      if ((await header(pane).getAttribute("aria-expanded")) === "true") {
        await header(pane).click();
      }
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
      return value instanceof RegExp ? value.test(shown) : shown === value;
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

export async function until(what, condition) {
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
export const say = (text) => console.log(`ok ${++step} ${text}`);
