// Whether the program of a session runs, from the messages of its debugger. Independent of the editor.

import type { Message } from "../relay";

/** The state of the program. */
export type Progress = "starting" | "running" | "stopped" | "over";

const RESUMES = new Set(["continue", "next", "stepIn", "stepOut", "restartFrame", "configurationDone"]);

/** Returns the state after a message of the debugger. */
export function after(before: Progress, message: Message): Progress {
  if (message.type === "response") {
    const { command = "", success } = message;
    if (success === true && command === "restart") {
      return "running";
    }
    return success === true && RESUMES.has(command) && before !== "over" ? "running" : before;
  }
  if (message.type !== "event" || before === "over") {
    return before;
  }
  switch (message.event) {
    case "stopped": {
      // In non-stop mode the others run on.
      const body = message.body as { allThreadsStopped?: boolean } | undefined;
      return body?.allThreadsStopped === false ? "running" : "stopped";
    }
    case "continued":
      return "running";
    case "exited":
    case "terminated":
      return "over";
    default:
      return before;
  }
}
