/**
 * What is known about an agent, written so that a language reads exactly that text and nothing more. One escaper for each
 * kind of file; printable ASCII stands as it is, everything else as an escape, so that no encoding, terminal or review
 * tool can make anything else of it.
 */

type Escape = (codePoint: number) => string;

function quoted(quote: string, asEscape: Escape): (text: string) => string {
  const special = new RegExp(`[\\\\${quote}]|[^ -~]`, 'gu');
  const escaped = (character: string) =>
    character === quote || character === '\\' ? `\\${character}` : asEscape(character.codePointAt(0) ?? 0);
  return (text) => quote + text.toWellFormed().replace(special, escaped) + quote;
}

const hex = (number: number, digits: number) => number.toString(16).padStart(digits, '0');

const braced: Escape = (codePoint) => `\\u{${codePoint.toString(16)}}`;

const fixedWidth: Escape = (codePoint) =>
  codePoint > 0xffff ? `\\U${hex(codePoint, 8)}` : `\\u${hex(codePoint, 4)}`;

/**
 * Java replaces \u escapes before it looks for the ends of lines and strings: as one, a line feed would end the line. Below
 * 256 there are octal escapes, which it reads where it should; above, no character ends anything.
 */
const utf16Units: Escape = (codePoint) => {
  if (codePoint < 0x100) return `\\${codePoint.toString(8).padStart(3, '0')}`;
  const units = String.fromCodePoint(codePoint);
  return Array.from({ length: units.length }, (_, index) => `\\u${hex(units.charCodeAt(index), 4)}`).join('');
};

/** For `sh` as well as for programs that take what follows `=` as it stands: quoted only where it must be. */
const environmentValue = (text: string): string =>
  /^[\w.:/@%+,=[\]-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** By the end of the file's name; in any other file there is no place for what an agent says about itself. */
export const escapers = {
  '.ts': quoted("'", braced),
  '.py': quoted('"', fixedWidth),
  '.go': quoted('"', fixedWidth),
  '.java': quoted('"', utf16Units),
  '.rs': quoted('"', braced),
  '.env.example': environmentValue,
} as const satisfies Record<string, (text: string) => string>;
