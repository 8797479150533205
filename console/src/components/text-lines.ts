/** Lines of text from tenants. */

/** Characters without ink besides spaces: soft hyphen, fillers, blank Braille. `TenantText` marks most of the others. */
const blankCharacters = /\s|\p{Default_Ignorable_Code_Point}|\u2800/gu;
const looksEmpty = (line: string): boolean => line.replace(blankCharacters, '') === '';

/** Without empty lines at the ends, and with at most one between others: empty lines would push our own statements out of sight. */
export function withoutGaps(text: string): string {
  const lines = text.split('\n').map((line) => (looksEmpty(line) ? '' : line));
  return lines
    .filter((line, index) => line !== '' || (index > 0 && lines[index - 1] !== ''))
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
}

const maxLines = 6;
const maxCharacters = 300;

/** The beginning of a long text; the text itself when it is short. */
export function beginningOf(text: string): string {
  const lines = text.split('\n');
  const cut = lines.slice(0, maxLines).join('\n').slice(0, maxCharacters);
  return cut === text ? text : `${cut.trimEnd()}…`;
}
