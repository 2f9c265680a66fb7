// Runs commands and shows their output.

import { spawn } from "node:child_process";

/** A failure that the user can fix; the text names the remedy. */
export class Failure extends Error {}

/** The user cancelled. */
export class Cancelled extends Error {}

/** The result of a command. */
export interface Result {
  code: number | null;
  output: string;
  errors: string;
}

/** Runs commands, one after the other. */
export class Runner {
  /**
   * @param show shows a line of output
   * @param signal ends the running command
   */
  constructor(
    readonly show: (text: string) => void,
    private readonly signal: AbortSignal,
  ) {}

  /** Runs a command; each line of its output is passed to `line`, whose result is shown. */
  async loud(
    command: string,
    args: string[],
    cwd: string,
    env: NodeJS.ProcessEnv,
    line: (text: string) => string | undefined = (text) => text,
  ): Promise<Result> {
    this.show(`> ${[command, ...args].join(" ")}`);
    return this.run(command, args, cwd, env, line, (text) => this.show(text));
  }

  /** Runs a command without showing its output. */
  quiet(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Result> {
    return this.run(command, args, cwd, env);
  }

  private run(
    command: string,
    args: string[],
    cwd: string,
    env: NodeJS.ProcessEnv,
    line?: (text: string) => string | undefined,
    error?: (text: string) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd,
        env,
        signal: this.signal,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let output = "";
      let errors = "";
      const show = (text: string) => {
        const shown = line?.(text);
        if (shown) {
          this.show(shown);
        }
      };
      const lines = line === undefined ? undefined : new Lines(show);
      const errorLines = error === undefined ? undefined : new Lines(error);
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        lines === undefined ? (output += text) : lines.add(text);
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        errors += text;
        errorLines?.add(text);
      });
      child.on("error", (error: NodeJS.ErrnoException) => {
        reject(this.signal.aborted ? new Cancelled() : new Failure(`${command}: ${error.message}`));
      });
      child.on("close", (code) => {
        lines?.end();
        errorLines?.end();
        this.signal.aborted ? reject(new Cancelled()) : resolve({ code, output, errors });
      });
    });
  }
}

/** Cuts text into lines. */
class Lines {
  private rest = "";

  constructor(private readonly take: (line: string) => void) {}

  add(text: string): void {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    lines.forEach(this.take);
  }

  end(): void {
    if (this.rest !== "") {
      this.take(this.rest);
    }
    this.rest = "";
  }
}
