/**
 * JSON in which characters that control a terminal, change the order of the display or show nothing are escapes. They appear in strings
 * only, where JSON has escapes for them, so a reader gets the same value.
 */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent);
  return isPlain(text) ? text : text.replace(hidden, escapedInJson);
}

/** Most texts are ASCII, and the properties of Unicode are slow to look up. JSON has escapes for all controls of ASCII but one. */
const isPlain = (text: string): boolean =>
  Buffer.byteLength(text) === text.length && !text.includes('\u007f');

const hidden = /[^\n\P{Cc}]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

export const escapedInJson = (character: string): string =>
  [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('');
