/** The shape of a bench: what it is given, and the rows that it measures. */

/** `target` is what we promise; `met` whether this run kept it. */
export interface Result {
  readonly what: string;
  readonly measured: string;
  readonly beside: string;
  readonly target: string;
  readonly met: boolean;
}

export interface Bench {
  readonly databaseUrl: string;
  /** For files, gone afterwards. */
  readonly folder: string;
  /** Long work shows progress. */
  say(line: string): void;
}
