/**
 * Escapes values of an agent for the source files of each language. Printable ASCII stays; everything else becomes an escape, so that no
 * encoding, terminal or review tool can misread it.
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
 * Java replaces \u escapes before it parses lines and strings: an escaped line feed would end the line. Octal escapes, for characters
 * below 256, are parsed inside strings; no character above ends a line.
 */
const utf16Units: Escape = (codePoint) => {
  if (codePoint < 0x100) return `\\${codePoint.toString(8).padStart(3, '0')}`;
  const units = String.fromCodePoint(codePoint);
  return Array.from({ length: units.length }, (_, index) => `\\u${hex(units.charCodeAt(index), 4)}`).join('');
};

/** For `sh`, and for programs that read the text after `=` literally: quoted only where necessary. */
const environmentValue = (text: string): string =>
  /^[\w.:/@%+,=[\]-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** By the end of the file's name. Other files may contain no values. */
export const escapers = {
  '.ts': quoted("'", braced),
  '.py': quoted('"', fixedWidth),
  '.go': quoted('"', fixedWidth),
  '.java': quoted('"', utf16Units),
  '.rs': quoted('"', braced),
  '.env.example': environmentValue,
} as const satisfies Record<string, (text: string) => string>;
