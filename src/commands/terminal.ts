/**
 * All output of the commands. The text may come from a server or a file of another party: characters that control a terminal or
 * change the display order are printed as escapes. test/support/import-rules.ts keeps `console` out of the other files.
 */

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

const printable = (text: string): string =>
  text.replace(unprintable, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );

/** On standard output. */
export const print = (text: string): void => console.log(printable(text));

/** On standard error. */
export const printError = (text: string): void => console.error(printable(text));
