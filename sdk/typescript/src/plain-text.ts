const maxLength = 500;

/** Texts of others end up in terminals and logs: no control characters, and not too long. */
export const plainText = (text: string): string =>
  text.slice(0, maxLength).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
