// Drives VS Code as a person does. Started by run.sh, which names the parts: CODE_SERVER, BROWSER, VSIX,
// WORK (with the folders `shop` of cargo, `workshop` of CMake, `market`, `ledger` and `recorded` of C), and perhaps
// SCREENSHOT and PICTURES.

import path from "node:path";
import { chromium } from "playwright-core";
import { Editor, startServer } from "./editor.mjs";
import * as past from "./past.mjs";
import * as recorded from "./recorded.mjs";
import * as shop from "./shop.mjs";
import * as traces from "./traces.mjs";
import * as workshop from "./workshop.mjs";

const { BROWSER, WORK } = process.env;

/** A window of its own on a folder. */
async function inFolder(browser, address, name, ...scenes) {
  const folder = path.join(WORK, name);
  const page = await browser.newPage({ viewport: { width: 1280, height: 840 } });
  page.setDefaultTimeout(30_000);
  try {
    await page.goto(`${address}?folder=${encodeURIComponent(folder)}`);
    await page.locator(".monaco-workbench .explorer-folders-view").waitFor({ timeout: 60_000 });
    const editor = new Editor(page, folder);
    for (const scene of scenes) {
      await scene(editor);
    }
  } catch (error) {
    await page.screenshot({ path: path.join(WORK, "failed.png") });
    throw error;
  }
  await page.close();
}

const { server, address } = await startServer(process.env);
const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox"] });
const wanted = process.argv.slice(2);
const has = (name) => wanted.length === 0 || wanted.includes(name);
try {
  if (has("shop")) {
    await inFolder(browser, address, "shop", shop.debugs, shop.stopsOnceAPass, shop.showsBuildErrors);
  }
  if (has("workshop")) {
    const { all } = workshop;
    await inFolder(browser, address, "workshop", ...all);
  }
  if (has("market")) {
    await inFolder(browser, address, "market", ...traces.all);
  }
  if (has("ledger")) {
    await inFolder(browser, address, "ledger", ...past.all);
  }
  if (has("recorded")) {
    await inFolder(browser, address, "recorded", ...recorded.all);
  }
  console.log("vscode: all went well");
} finally {
  await browser.close();
  workshop.end();
  process.kill(-server.pid);
}
