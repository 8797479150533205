/** The input of a bench, and the rows of its result table. */

/** `baseline` was measured in the same run. `met`: this run reached the `target`. */
export interface Result {
  readonly metric: string;
  readonly result: string;
  readonly baseline: string;
  readonly target: string;
  readonly met: boolean;
}

export interface BenchContext {
  readonly databaseUrl: string;
  /** The process id of the PostgreSQL server. */
  readonly postgresPid: number;
  /** For temporary files. */
  readonly folder: string;
  /** Logs progress. */
  log(line: string): void;
}
