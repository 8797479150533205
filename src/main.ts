/** The process of the command line: its arguments, variables, streams, signals and exit. commands/main.ts does the rest. */
import { isClient, main } from './commands/main.ts';

const argv = process.argv.slice(2);

/** `countersign audit list --all | head` is no failure. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

function onSignal(listener: (signal: NodeJS.Signals) => void): () => void {
  process.on('SIGINT', listener);
  process.on('SIGTERM', listener);
  return () => {
    process.off('SIGINT', listener);
    process.off('SIGTERM', listener);
  };
}

/** On some systems writes to a pipe are asynchronous. */
const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => (stream.writableLength === 0 ? resolve() : stream.write('', () => resolve())));

if (isClient(argv)) endWithReader();
const exitCode = await main(argv, process.env, {
  get stdin() {
    return process.stdin;
  },
  stdinDescriptor: 0,
  stdout: process.stdout,
  stderr: process.stderr,
  onSignal,
  exit: process.exit,
});
if (exitCode !== undefined) {
  await Promise.all([written(process.stdout), written(process.stderr)]);
  // At once: a check of `doctor` that took too long may still hold a connection.
  process.exit(exitCode);
}
