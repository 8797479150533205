/** Texts that consist of lines: UTF-8, each line with a newline, and no other control character. */
import { textOf } from './bytes.ts';
import { TransparencyError, type TransparencyErrorCode } from './errors.ts';

export function readLinesOf(input: string | Uint8Array, limit: number, code: TransparencyErrorCode): string {
  const text = textOf(input, limit, code);
  for (let at = 0; at < text.length; at += 1)
    if (text.charCodeAt(at) < 0x20 && text[at] !== '\n')
      throw new TransparencyError(code, 'a control character');
  return text;
}
