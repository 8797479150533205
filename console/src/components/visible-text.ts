/** Characters that change the direction of the text around them or hide text: shown as a mark instead. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const kept = new Set(['\n', '\t', '\u200c', '\u200d']);

/** The text with a mark in place of each invisible character. For attributes such as `aria-label`. Joiners stay: scripts and emoji need them. */
export const visibleText = (text: string): string =>
  text.replace(invisible, (character) => (kept.has(character) ? character : '␣'));
