/** Content-Disposition of the archive: an ASCII file name, and the exact name beside it if it differs (RFC 6266). */

const maxLength = 100;

export function attachment(name: string): string {
  const readable = Array.from(name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}/\\]/gu, '_'))
    .slice(0, maxLength)
    .join('')
    .replace(/^\.+/, '_');
  const plain = readable.replace(/[^\w.+-]/gu, '_') || 'agent';
  const header = `attachment; filename="${plain}-scaffold.zip"`;
  return readable === plain || readable === ''
    ? header
    : `${header}; filename*=UTF-8''${percentEncoded(`${readable}-scaffold.zip`)}`;
}

/** RFC 8187 allows fewer unescaped characters than encodeURIComponent. */
const percentEncoded = (text: string) =>
  encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
