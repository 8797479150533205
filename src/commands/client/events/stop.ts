/** How a command ends that runs until it is stopped. */
import { printError } from '../../terminal.ts';

/**
 * Ctrl-C is the ordinary end: exit code 0. So is a reader that has closed the pipe, such as `head`. `closing` makes the last line,
 * on standard error.
 */
export function endOnInterrupt(closing: () => string): void {
  const end = () => {
    printError(closing());
    process.exit(0);
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  process.stdout.on('error', () => process.exit(0));
}
