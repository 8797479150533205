/** Memory of a process and its descendants, from /proc of Linux. */
import { readFileSync } from 'node:fs';
import { canMeasureCpu, withDescendants } from './cpu-time.ts';

export interface Memory {
  readonly residentMegabytes: number;
  /** Pages that several processes share count in part (PSS). */
  readonly proportionalMegabytes: number;
}

/** Undefined where there is no /proc. */
export function memoryOf(pid: number): Memory | undefined {
  if (!canMeasureCpu) return undefined;
  const texts = withDescendants(pid).map((each) => readFileSync(`/proc/${each}/smaps_rollup`, 'utf8'));
  const sum = (field: RegExp) =>
    texts.reduce((megabytes, text) => megabytes + Number(field.exec(text)?.[1]) / 1024, 0);
  return { residentMegabytes: sum(/^Rss:\s+(\d+)/m), proportionalMegabytes: sum(/^Pss:\s+(\d+)/m) };
}
