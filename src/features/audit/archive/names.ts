/** The names of the files of a day, relative to the prefix of the archive. */
import { isUuid } from '../../../kernel/ids.ts';

export interface ArchiveDay {
  readonly organizationId: string;
  /** YYYY-MM-DD: that of its checkpoints, in UTC. */
  readonly day: string;
}

const stem = ({ organizationId, day }: ArchiveDay) => `${organizationId}/${day.replaceAll('-', '/')}`;

export const fileName = (day: ArchiveDay): string => `${stem(day)}.jsonl.zst`;
export const manifestName = (day: ArchiveDay): string => `${stem(day)}.manifest.json`;

/** Undefined for a name that is none of the archive's. */
export function readName(name: string): (ArchiveDay & { readonly kind: 'file' | 'manifest' }) | undefined {
  const match = /^([^/]+)\/(\d{4})\/(\d\d)\/(\d\d)\.(jsonl\.zst|manifest\.json)$/.exec(name);
  if (!match) return undefined;
  const [, organizationId = '', year, month, date, ending] = match;
  const day = `${year}-${month}-${date}`;
  if (!isUuid(organizationId) || !isDay(day)) return undefined;
  return { organizationId, day, kind: ending === 'jsonl.zst' ? 'file' : 'manifest' };
}

/** The 31st of April is none. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().slice(0, 10) === text;

const dayMs = 86_400_000;

export const dayAt = (time: number): string => new Date(time).toISOString().slice(0, 10);
export const daysAfter = (day: string, days: number): string => dayAt(Date.parse(day) + days * dayMs);
/** The first moment after the day. */
export const endOf = (day: string): number => Date.parse(day) + dayMs;
