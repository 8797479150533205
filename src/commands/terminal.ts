/**
 * All output of the commands. The text may come from a server or a file of another party: characters that control a terminal or
 * change the display order are printed as escapes. test/support/rules/import-rules.ts keeps `console` out of the other files.
 */
import { printableJson } from '../kernel/printable-json.ts';

/** C0 and C1 controls, bidirectional and invisible formatting, line and paragraph separators, halves of surrogate pairs. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
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
export const print = (text: string): void => console.log(printable(text));

export const printJson = (value: unknown): void => console.log(printableJson(value, 2));

/** One value a line. */
export const printJsonLine = (value: unknown): void => console.log(printableJson(value));

/** Text of another party as it is, but for the characters that control a terminal; without a new line at its end. */
export const printText = (text: string): void => void process.stdout.write(printable(text));

/** Bytes for a file or another program, not for a terminal. */
export const printBytes = (bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) =>
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve())),
  );

/** A line that the next one replaces, on a terminal only. An empty text removes it. */
export function printProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${printable(text)}`);
}

/** Colours and bold text are for people: on a terminal, unless they refuse them. */
export const hasColours = (): boolean =>
  Boolean(process.stdout.isTTY) && !process.env.NO_COLOR && process.env.TERM !== 'dumb';

/** A line of ours in bold; its text must be safe already. */
export const printHeading = (text: string): void =>
  console.log(hasColours() ? `\u001b[1m${printable(text)}\u001b[22m` : printable(text));

/** On standard error. */
export const printError = (text: string): void => console.error(printable(text));

/** On standard error, without a new line: the answer follows on the same one. */
export const printQuestion = (text: string): void => void process.stderr.write(printable(text));

const colours = { red: 31, green: 32, yellow: 33 } as const;

/** On standard output, in a colour where colours are wanted. */
export const printIn = (colour: keyof typeof colours, text: string): void =>
  console.log(hasColours() ? `\u001b[${colours[colour]}m${printable(text)}\u001b[0m` : printable(text));
