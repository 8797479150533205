import { useSyncExternalStore } from 'react';
import { exactTime } from './exact-time.ts';

interface RelativeTimeProps {
  /** ISO 8601, as the API answers. */
  readonly time: string | null | undefined;
  /** Shown when there is no time. */
  readonly fallback?: string;
  /** Counts the seconds of the first minute. */
  readonly withSeconds?: boolean;
}

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** "3 minutes ago", with the exact time (UTC) in its title. It follows the clock. */
export function RelativeTime({ time, fallback = 'never', withSeconds = false }: RelativeTimeProps) {
  const { onTick, currentTick } = withSeconds ? seconds : quarterMinutes;
  const now = useSyncExternalStore(onTick, currentTick);
  const at = time ? Date.parse(time) : Number.NaN;
  if (!time || Number.isNaN(at)) return <>{fallback}</>;
  return (
    <time dateTime={time} title={exactTime(time)}>
      {relativeText(at, now, withSeconds)}
    </time>
  );
}

function relativeText(at: number, now: number, withSeconds: boolean): string {
  const seconds = Math.round((at - now) / 1000);
  for (const [unit, size] of units)
    if (Math.abs(seconds) >= size) return words.format(Math.trunc(seconds / size), unit);
  if (withSeconds && seconds < 0) return words.format(seconds, 'second');
  // Between two ticks the past can look like the near future.
  return seconds * 1000 > tickMilliseconds ? 'in less than a minute' : 'just now';
}

/** One timer for all that show it. */
function createTicker(milliseconds: number) {
  let tick = Date.now();
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setInterval> | undefined;
  return {
    onTick(listener: () => void): () => void {
      listeners.add(listener);
      timer ??= setInterval(() => {
        tick = Date.now();
        for (const each of listeners) each();
      }, milliseconds);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    /** Between ticks the value must not change; a stopped clock starts with the present. */
    currentTick(): number {
      if (!timer && Date.now() - tick > milliseconds) tick = Date.now();
      return tick;
    },
  };
}

const tickMilliseconds = 15_000;
const quarterMinutes = createTicker(tickMilliseconds);
const seconds = createTicker(1_000);
