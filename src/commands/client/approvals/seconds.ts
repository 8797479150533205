import { CommandError, exitCodes } from '../../command-error.ts';
import { quoted } from '../../terminal.ts';

export function readSeconds(option: string, text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new CommandError(`${option} must be a number of seconds, not ${quoted(text)}`, exitCodes.usage);
}
