// What a message of the debugger says about the stop that is shown. Independent of the editor.

/** The fields of a protocol message that are used here. */
interface Message {
  type?: string;
  event?: string;
  command?: string;
  success?: boolean;
  body?: { reason?: string; description?: string };
}

/** How the description of a stop in the past of a recording begins. */
const IN_THE_PAST = "In the past: ";

/**
 * `visit`: a stop is shown, perhaps a past one. `run`: none is, unless a visit follows at once. `present`:
 * none of the past is.
 */
export type Movement = "visit" | "run" | "present";

/** Returns what a message says about it; undefined: nothing. */
export function movementIn(message: Message): Movement | undefined {
  if (message.type === "event") {
    switch (message.event) {
      case "stopped":
        return isPast(message.body ?? {}) ? "visit" : "present";
      case "continued":
        return "run";
      case "exited":
      case "terminated":
        return "present";
    }
  }
  // A program that starts again may run without a stop.
  const isRestart = message.type === "response" && message.command === "restart";
  return isRestart && message.success === true ? "present" : undefined;
}

/** Returns whether a stop may be one of the past. */
const isPast = ({ reason, description }: { reason?: string; description?: string }): boolean =>
  reason === "goto" || (description?.startsWith(IN_THE_PAST) ?? false);
