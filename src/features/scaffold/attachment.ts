/** The archive's name in a header: what may stand there plainly, and beside it (RFC 6266) the name itself, if it differs. */

const longest = 100;

export function attachment(name: string): string {
  const readable = Array.from(name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}/\\]/gu, '_'))
    .slice(0, longest)
    .join('')
    .replace(/^\.+/, '_');
  const plain = readable.replace(/[^\w.+-]/gu, '_') || 'agent';
  const header = `attachment; filename="${plain}-scaffold.zip"`;
  return readable === plain || readable === ''
    ? header
    : `${header}; filename*=UTF-8''${percentEncoded(`${readable}-scaffold.zip`)}`;
}

/** RFC 8187 leaves fewer characters as they are than encodeURIComponent does. */
const percentEncoded = (text: string) =>
  encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
