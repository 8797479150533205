/** Python in the layout of `ruff format`, for generated files. */

export const lineLength = 100;

/** A type: a word, or a word with parts in brackets. */
export type PythonType = string | { readonly head: string; readonly parts: readonly PythonType[] };

export const textOf = (type: PythonType): string =>
  typeof type === 'string' ? type : `${type.head}[${type.parts.map(textOf).join(', ')}]`;

/** `before` and `after` stand around the type, on its first line and on its last. */
export function typeLines(before: string, type: PythonType, after = '', indent = ''): string[] {
  const line = `${indent}${before}${textOf(type)}${after}`;
  if (typeof type === 'string' || line.length <= lineLength) return fitting([line]);
  const comma = type.parts.length > 1 ? ',' : '';
  return [
    `${indent}${before}${type.head}[`,
    ...type.parts.flatMap((part) => typeLines('', part, comma, `${indent}    `)),
    `${indent}]${after}`,
  ];
}

/** A call, or another list in brackets: on one line, or with its items together on one, or each on its own. */
export function listLines(before: string, items: readonly string[], after: string, indent = ''): string[] {
  const line = `${indent}${before}${items.join(', ')}${after}`;
  if (line.length <= lineLength) return [line];
  const inner = `${indent}    ${items.join(', ')}`;
  if (inner.length <= lineLength) return [`${indent}${before}`, inner, `${indent}${after}`];
  return fitting([
    `${indent}${before}`,
    ...items.map((item) => `${indent}    ${item},`),
    `${indent}${after}`,
  ]);
}

export function docstring(paragraphs: readonly string[], indent: string): string[] {
  const [first = '', ...rest] = paragraphs.flatMap((text, index) => [
    ...(index > 0 ? [''] : []),
    ...wrapped(
      text.replaceAll('\\', '\\\\').replaceAll('"""', "'''"),
      lineLength - indent.length - (index === 0 ? 6 : 0),
    ),
  ]);
  if (rest.length === 0) return [`${indent}"""${first}"""`];
  return [`${indent}"""${first}`, ...rest.map((line) => (line ? indent + line : '')), `${indent}"""`];
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function fitting(lines: string[]): string[] {
  const long = lines.find((line) => line.length > lineLength);
  if (long) throw new Error(`too long for Python: ${long}`);
  return lines;
}
