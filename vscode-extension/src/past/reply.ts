// The debugger's replies about the past: the bodies of `stillpoint/pastStops`, `stillpoint/pastChanges` and
// `stillpoint/originHops`. Independent of the editor.

/** A stop that can be shown. */
export interface PastStop {
  /** How many stops there were until then. */
  number: number;
  reason: string;
  /** How long ago it was, in seconds. */
  age: number;
  function?: string;
  path?: string;
  line?: number;
  /** The program is at this stop. */
  isPresent: boolean;
  /** Stacks and variables are those of this stop. */
  isShown: boolean;
}

/** The recording of a program. */
export interface Recording {
  /** The number of system calls and signals so far. */
  events: number;
  /** How many of them were before the place that is shown; undefined: the present is shown. */
  position?: number;
}

/** What is known of the past. */
export interface Past {
  /** The stops that can be shown, oldest first. */
  stops: PastStop[];
  /** Undefined: the program is not recorded. */
  recording?: Recording;
}

/** A variable with two values, as texts. */
export interface Change {
  name: string;
  before: string;
  after: string;
}

/** What differs between two stops. */
export interface PastChanges {
  /** Frames that are on the stack at both stops, innermost first. */
  frames: { function: string; variables: Change[] }[];
  /** Functions that were called and have not returned, innermost first. */
  entered: string[];
  /** Functions that have returned, innermost first. */
  left: string[];
  /** Variables of static storage. */
  globals: Change[];
  /** The number of changes that are not listed. */
  omitted: number;
}

/** A place on the way back to the origin of a value. */
export interface Hop {
  number: number;
  /** What has happened to the value there. */
  text: string;
  value: string;
  function?: string;
  path?: string;
  line?: number;
  canBeShown: boolean;
}

/** Where a value comes from. */
export interface Origin {
  /** The expression; empty: no origin was searched. */
  name: string;
  /** The places on the way back, the last write first. */
  hops: Hop[];
}

/** Reads the body of `stillpoint/pastStops`. What is missing is empty. */
export function readPast(body: unknown): Past {
  const { stops = [], recording } = (body ?? {}) as { stops?: Partial<PastStop>[]; recording?: Partial<Recording> };
  return {
    stops: stops.map((stop) => ({
      ...stop,
      number: stop.number ?? 0,
      reason: stop.reason ?? "",
      age: stop.age ?? 0,
      isPresent: stop.isPresent ?? false,
      isShown: stop.isShown ?? false,
    })),
    recording: recording && { ...recording, events: recording.events ?? 0 },
  };
}

/** Reads the body of `stillpoint/pastChanges`. What is missing is empty. */
export function readChanges(body: unknown): PastChanges {
  const changes = (body ?? {}) as Partial<PastChanges>;
  return {
    frames: changes.frames ?? [],
    entered: changes.entered ?? [],
    left: changes.left ?? [],
    globals: changes.globals ?? [],
    omitted: changes.omitted ?? 0,
  };
}

/** Reads the body of `stillpoint/originHops`. What is missing is empty. */
export function readOrigin(body: unknown): Origin {
  const { name = "", hops = [] } = (body ?? {}) as { name?: string; hops?: Partial<Hop>[] };
  return {
    name,
    hops: hops.map((hop) => ({
      ...hop,
      number: hop.number ?? 0,
      text: hop.text ?? "",
      value: hop.value ?? "",
      canBeShown: hop.canBeShown ?? false,
    })),
  };
}
