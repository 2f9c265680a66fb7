// Relays messages between editor and debugger if a restart must build first: the editor sends
// `restart` with the previous build's program. Independent of the editor.

import type { Readable, Writable } from "node:stream";

/** The fields of a protocol message that are used here. */
export interface Message {
  type: string;
  seq: number;
  command?: string;
  arguments?: unknown;
  [name: string]: unknown;
}

/** Builds the configuration for a restart; rejects if that fails. */
export type Rebuild = () => Promise<object>;

/** Forwards messages in order, and replaces only the arguments of `restart`. */
export class Relay {
  private waiting: Promise<void> = Promise.resolve();
  private isBuilding = false;
  private input = Buffer.alloc(0);

  /**
   * @param toDebugger its standard input
   * @param fromDebugger its standard output
   * @param sendToEditor sends a message to the editor
   */
  constructor(
    private readonly toDebugger: Writable,
    fromDebugger: Readable,
    private readonly rebuild: Rebuild,
    private readonly sendToEditor: (message: Message) => void,
  ) {
    fromDebugger.on("data", (part: Buffer) => this.read(part));
  }

  /** Handles a message from the editor. */
  take(message: Message): void {
    const isRestart = message.type === "request" && message.command === "restart";
    if (!isRestart && !this.isBuilding) {
      this.write(message);
      return;
    }
    // `cancel` and `disconnect` must not wait for a compiler.
    if (!isRestart && ["cancel", "disconnect", "terminate"].includes(message.command ?? "")) {
      this.write(message);
      return;
    }
    this.isBuilding = true;
    const before = this.waiting;
    const own = before.then(async () => {
      if (isRestart) {
        await this.restart(message);
      } else {
        this.write(message);
      }
    });
    this.waiting = own;
    void own.then(() => {
      if (this.waiting === own) {
        this.isBuilding = false;
      }
    });
  }

  private async restart(message: Message): Promise<void> {
    try {
      const settings = await this.rebuild();
      const before = (message.arguments as { arguments?: object } | undefined)?.arguments;
      this.write({ ...message, arguments: { arguments: { ...before, ...settings } } });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      // The build has shown its errors. A restart must not fail: VS Code would take the session for ended, and still
      // show it (microsoft/vscode#237414). The program stays as it is.
      const output = `The program was not restarted: ${text}\n`;
      this.sendToEditor({ type: "event", seq: 0, event: "output", body: { category: "important", output } });
      const answer = { request_seq: message.seq, success: true, command: "restart" };
      this.sendToEditor({ type: "response", seq: 0, ...answer });
    }
  }

  private write(message: Message): void {
    const text = JSON.stringify(message);
    this.toDebugger.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  private read(part: Buffer): void {
    this.input = Buffer.concat([this.input, part]);
    for (;;) {
      const end = this.input.indexOf("\r\n\r\n");
      const header = end < 0 ? undefined : this.input.toString("latin1", 0, end);
      const length = Number(/Content-Length: *(\d+)/i.exec(header ?? "")?.[1] ?? NaN);
      if (end < 0 || Number.isNaN(length) || this.input.length < end + 4 + length) {
        return;
      }
      const text = this.input.toString("utf8", end + 4, end + 4 + length);
      this.input = this.input.subarray(end + 4 + length);
      this.sendToEditor(JSON.parse(text));
    }
  }
}
