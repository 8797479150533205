/** Values as they stand in a shell, in TypeScript and in Python. Characters without a shape of their own are written as escapes. */

export interface Language {
  readonly text: (value: string) => string;
  readonly key: (name: string) => string;
  readonly words: Readonly<Record<'true' | 'false' | 'null', string>>;
  /** Inside of the braces of an object on one line. */
  readonly padding: string;
}

const shapeless = /[\u007f-\u009f]|[\p{Cf}\p{Zl}\p{Zp}\p{Co}]/gu;

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');

/** `\uXXXX` for each unit of UTF-16, as JSON and TypeScript have it. */
const escapedUnits = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
    .join('');

/** JSON for a terminal. */
export const textOf = (value: unknown): string => JSON.stringify(value).replace(shapeless, escapedUnits);

export const typescript: Language = {
  text: textOf,
  // As `__proto__: …` it would set the prototype.
  key: (name) =>
    name === '__proto__' ? '["__proto__"]' : /^[A-Za-z_$][\w$]*$/.test(name) ? name : textOf(name),
  words: { true: 'true', false: 'false', null: 'null' },
  padding: ' ',
};

const pythonText = (value: string): string =>
  JSON.stringify(value).replace(shapeless, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
  });

export const python: Language = {
  text: pythonText,
  key: pythonText,
  words: { true: 'True', false: 'False', null: 'None' },
  padding: '',
};

const width = 80;

/** A value of JSON. What is too long for a line has a line for each item. */
export function literal(value: unknown, language: Language, indent = ''): string {
  if (typeof value === 'string') return language.text(value);
  if (typeof value !== 'object' || value === null)
    return typeof value === 'number' ? String(value) : language.words[String(value) as 'true'];
  const deeper = `${indent}${language === python ? '    ' : '  '}`;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item) => literal(item, language, deeper))
    : Object.entries(value).map(
        ([name, item]) => `${language.key(name)}: ${literal(item, language, deeper)}`,
      );
  const [open, close] = isList ? '[]' : '{}';
  if (items.length === 0) return `${open}${close}`;
  const padding = isList ? '' : language.padding;
  const line = `${open}${padding}${items.join(', ')}${padding}${close}`;
  if (line.length + indent.length <= width && !line.includes('\n')) return line;
  return `${open}\n${items.map((item) => `${deeper}${item},\n`).join('')}${indent}${close}`;
}

/** In single quotes, in which a shell changes nothing. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A word of a command, quoted where it has to be. */
export const word = (text: string): string => (/^[\w@%+:,./-]+$/.test(text) ? text : quoted(text));
