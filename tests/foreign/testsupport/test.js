// A client that nobody here wrote: @vscode/debugadapter-testsupport launches the binary, hits a
// breakpoint and reads a variable. Started by run.sh, which names the binary and the program.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const { STILLPOINT, PROGRAM, SOURCE } = process.env;

function lineOf(marker) {
  const lines = fs.readFileSync(SOURCE, "utf8").split("\n");
  return 1 + lines.findIndex((line) => line.split("//@ ")[1]?.split(" ").includes(marker));
}

describe("stillpoint", () => {
  let client;

  beforeEach(async () => {
    client = new DebugClient(STILLPOINT, "dap", "stillpoint");
    await client.start();
  });

  afterEach(() => client.stop());

  it("stops at a breakpoint and shows a variable", async () => {
    const line = lineOf("body");
    await client.hitBreakpoint({ program: PROGRAM }, { path: SOURCE, line });
    const threads = await client.threadsRequest();
    const threadId = threads.body.threads[0].id;
    const stack = await client.stackTraceRequest({ threadId });
    assert.equal(stack.body.stackFrames[1].name, "main");
    const frameId = stack.body.stackFrames[0].id;
    const scopes = await client.scopesRequest({ frameId });
    const { variablesReference } = scopes.body.scopes[0];
    const { body } = await client.variablesRequest({ variablesReference });
    const scale = body.variables.find((variable) => variable.name === "scale");
    assert.equal(scale.value, "10");
    const result = await client.evaluateRequest({ expression: "i", frameId });
    assert.equal(result.body.result, "0");
    await Promise.all([
      client.nextRequest({ threadId }),
      client.assertStoppedLocation("step", { line: lineOf("body_return") }),
    ]);
  });

  it("runs to the end", async () => {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ program: PROGRAM }),
      client.assertOutput("stdout", "105"),
      client.waitForEvent("exited").then((event) => assert.equal(event.body.exitCode, 0)),
      client.waitForEvent("terminated"),
    ]);
  });

  it("answers an unknown program with an error", async () => {
    await client.initializeRequest();
    await assert.rejects(client.launchRequest({ program: "/no/such/program" }));
  });
});
