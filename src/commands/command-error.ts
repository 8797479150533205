/** A command cannot continue, for a reason that the user can fix: main.ts prints the message without a stack. */
export class CommandError extends Error {}
