/** The exit codes of all commands; docs/guides/command-line.md explains them. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  notSignedIn: 3,
  notPermitted: 4,
  notFound: 5,
  unavailable: 6,
  /** `apply --plan` found a difference. */
  different: 7,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A command cannot continue, for a reason that the user can fix: commands/main.ts prints the message without a stack. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Ctrl-C at a question ends the command, without a message. */
export class Interrupted extends Error {
  /** As a shell reports SIGINT. */
  readonly exitCode = 130;
}
