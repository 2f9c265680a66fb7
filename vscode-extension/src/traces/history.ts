// How often a tracepoint was hit over time. Independent of the editor.

/** The number of hits at a moment, in seconds since the tracepoint was set. */
export interface Sample {
  seconds: number;
  hits: number;
}

/** Hits per second between two samples. */
export interface Point {
  /** The end of the interval. */
  seconds: number;
  rate: number;
}

/** Samples that are kept: a session of any length has at most this many. */
const MOST = 512;
/** Seconds over which the present rate is measured, at least. */
const PRESENT = 1;

/** The samples of a tracepoint. As they become too many, every second one is dropped. */
export class History {
  private samples: Sample[] = [];

  add(sample: Sample): void {
    const last = this.samples.at(-1);
    if (last !== undefined && (sample.seconds < last.seconds || sample.hits < last.hits)) {
      // Another run of the program.
      this.samples = [];
    } else if (last !== undefined && sample.seconds === last.seconds) {
      this.samples.pop();
    }
    this.samples.push({ seconds: sample.seconds, hits: sample.hits });
    if (this.samples.length > MOST) {
      const end = this.samples.length - 1;
      this.samples = this.samples.filter((_, at) => at % 2 === 0 || at === end);
    }
  }

  /** The rates between samples, oldest first. */
  points(): Point[] {
    return this.samples.slice(1).map(({ seconds, hits }, at) => {
      const before = this.samples[at];
      return { seconds, rate: (hits - before.hits) / (seconds - before.seconds) };
    });
  }

  /** The rate of the last second; undefined: it is not known. */
  rate(): number | undefined {
    const last = this.samples.at(-1);
    const isBefore = ({ seconds }: Sample) => last !== undefined && last.seconds - seconds >= PRESENT;
    const before = this.samples.findLast(isBefore) ?? this.samples[0];
    if (last === undefined || before === last) {
      return undefined;
    }
    return (last.hits - before.hits) / (last.seconds - before.seconds);
  }
}
