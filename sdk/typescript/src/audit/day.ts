/** The export of one day: all its links are of the day that the signed statement names, and it begins where the day before ended. */
import { type Finding, finding } from './findings.ts';
import type { ExportManifest } from './manifest.ts';
import type { ExportStatement } from './statements.ts';

/** The days of an export's checkpoints, which are those of their links. */
export interface ExportDays {
  /** Of the checkpoint that the chain goes on from. */
  readonly start: string | undefined;
  /** Of the first checkpoint, and of the last one: they never go back. */
  readonly first: string | undefined;
  readonly last: string | undefined;
}

export const noDays: ExportDays = { start: undefined, first: undefined, last: undefined };

export const withDay = ({ start, first }: ExportDays, day: string): ExportDays => ({
  start,
  first: first ?? day,
  last: day,
});

export function dayFinding(
  { at, day, organizationId }: ExportStatement,
  { start, first, last }: ExportDays,
  { chains }: ExportManifest,
): Finding | undefined {
  if (day === undefined || day === null)
    return start === undefined ? undefined : finding('EXPORT_DAY_MISSING');
  const isThatDay =
    organizationId !== null &&
    chains <= 1 &&
    (first === undefined || first === day) &&
    (last === undefined || last === day) &&
    (start === undefined || start < day) &&
    // Before its end, the day was not complete.
    at.slice(0, 10) > day;
  return isThatDay ? undefined : finding('EXPORT_DAY_MISMATCH', { day: String(day) });
}
