/**
 * All output of the commands. The text may come from a server or a file of another party: characters that control a terminal or
 * change the display order are printed as escapes. test/support/rules/import-rules.ts keeps `console` out of the other files.
 */
import { escapedInJson, printableJson } from '../kernel/printable-json.ts';
import type { Io } from './io.ts';

/**
 * C0 and C1 controls, bidirectional formatting, line and paragraph separators, halves of surrogate pairs, and all that shows nothing or
 * only a blank: fillers, selectors, tags.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** What JSON of the API leaves as it is. */
const blank = /[\p{Default_Ignorable_Code_Point}\u2800]/gu;
const maxQuoted = 500;

const escaped = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`;

/** Text of another party within one of our lines: it cannot start a new line or fill the screen. */
export function quoted(text: unknown): string {
  const [...characters] = String(text);
  const cut = characters.length > maxQuoted ? [...characters.slice(0, maxQuoted), '…'] : characters;
  return cut.join('').replace(unprintable, escaped);
}

/** The same without a limit to its length, for values that a program or a person needs in full. */
export const oneLine = (text: unknown): string => String(text).replace(unprintable, escaped);

const printable = (text: string): string =>
  text.replace(unprintable, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );

/** On standard output. */
export const print = (io: Io, text: string): void => io.console.log(printable(text));

const json = (value: unknown, indent?: number): string =>
  printableJson(value, indent).replace(blank, escapedInJson);

export const printJson = (io: Io, value: unknown): void => io.console.log(json(value, 2));

/** One value a line. */
export const printJsonLine = (io: Io, value: unknown): void => io.console.log(json(value));

/** Text of another party as it is, but for the characters that control a terminal; without a new line at its end. */
export const printText = (io: Io, text: string): void => void io.stdout.write(printable(text));

/** Bytes for a file or another program, not for a terminal. */
export const printBytes = (io: Io, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => io.stdout.write(bytes, (error) => (error ? reject(error) : resolve())));

/** A line that the next one replaces, on a terminal only. An empty text removes it. */
export function printProgress(io: Io, text: string): void {
  if (io.stderr.isTTY) io.stderr.write(`\r\u001b[K${printable(text)}`);
}

/** Colours and bold text are for people: on a terminal, unless they refuse them. */
const hasColours = ({ stdout, env }: Io): boolean =>
  Boolean(stdout.isTTY) && !env.NO_COLOR && env.TERM !== 'dumb';

/** A line of ours in bold; its text must be safe already. */
export const printHeading = (io: Io, text: string): void =>
  io.console.log(hasColours(io) ? `\u001b[1m${printable(text)}\u001b[22m` : printable(text));

/** On standard error. */
export const printError = (io: Io, text: string): void => io.console.error(printable(text));

/** On standard error, without a new line: the answer follows on the same one. */
export const printQuestion = (io: Io, text: string): void => void io.stderr.write(printable(text));

const colours = { red: 31, green: 32, yellow: 33 } as const;

/** On standard output, in a colour where colours are wanted. */
export const printIn = (io: Io, colour: keyof typeof colours, text: string): void =>
  io.console.log(hasColours(io) ? `\u001b[${colours[colour]}m${printable(text)}\u001b[0m` : printable(text));
