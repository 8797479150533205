/** Paths of tiles and entry bundles: `tile/0/x001/x234/067`, `tile/entries/000.p/17`. The index is in groups of three digits. */
import { parseDecimal } from './decimal.ts';
import { fullWidth, type Tile } from './tile.ts';

const maxLevel = 63;
/** Six groups hold each exact number. */
const path = /^tile\/(entries|0|[1-9][0-9]?)\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/;

export function tilePath({ level, index, width }: Tile): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g) as string[];
  const last = groups.pop();
  const before = groups.map((group) => `x${group}/`).join('');
  return `tile/${level}/${before}${last}${width === fullWidth ? '' : `.p/${width}`}`;
}

/** Undefined for every text that tilePath does not write. */
export function parseTilePath(text: string): Tile | undefined {
  const [, levelText, groups, widthText] = path.exec(text) ?? [];
  if (levelText === undefined || groups === undefined) return undefined;
  const level = levelText === 'entries' ? levelText : Number(levelText);
  const index = parseDecimal(groups.replace(/\D/g, '').replace(/^0+(?=\d)/, ''));
  const width = widthText === undefined ? fullWidth : Number(widthText);
  if (index === undefined || (level !== 'entries' && level > maxLevel)) return undefined;
  if (widthText !== undefined && width >= fullWidth) return undefined;
  const tile = { level, index, width } as Tile;
  // Groups of zeros before the first digit.
  return tilePath(tile) === text ? tile : undefined;
}
