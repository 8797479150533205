/**
 * Characters that change the direction of the text around them, or show nothing. The last group has those that are marked; the others
 * stay: joiners between letters of scripts that need them and within emoji, and selectors of the form of emoji and Han characters.
 */
const invisible = new RegExp(
  [
    String.raw`(?<=[\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]|(?!\p{Script=Latin}|\p{Script=Greek}|\p{Script=Cyrillic}|\p{Script=Han})\p{L})[\u200C\u200D]`,
    String.raw`(?<=[\p{Extended_Pictographic}\d#*])[\uFE0E\uFE0F]`,
    String.raw`(?<=\p{Script=Han})[\u{FE00}-\u{FE0F}\u{E0100}-\u{E01EF}]`,
    String.raw`([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u2065\u2800\u3164\uFE00-\uFE0F\uFFA0\u{E0000}-\u{E0FFF}])`,
  ].join('|'),
  'gu',
);
const blanks = new Set(['\n', '\t']);

const withHidden = (text: string, written: (character: string) => string): string =>
  text.replace(invisible, (match: string, hidden: string | undefined) =>
    hidden === undefined || blanks.has(hidden) ? match : written(hidden),
  );

/** The text with a mark in place of each invisible character. For attributes such as `aria-label`. */
export const visibleText = (text: string): string => withHidden(text, () => '␣');

/** The text with a code such as `\u{202e}` in place of each invisible character, for files. */
export const escapedText = (text: string): string =>
  withHidden(text, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`);
