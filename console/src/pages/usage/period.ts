/** The period of the page: days of UTC, such as 2030-01-31, as the API takes them. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

const dayMilliseconds = 86_400_000;
const isDay = (text: string | undefined): text is string =>
  text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** The last `days` days, unless the URL names its own first or last day. */
export function periodOf(
  {
    days,
    from,
    to,
  }: { readonly days: string; readonly from?: string | undefined; readonly to?: string | undefined },
  now: number,
): Period {
  const last = isDay(to) ? to : dayOf(now);
  const first = isDay(from) ? from : dayOf(Date.parse(last) - (Number(days) - 1) * dayMilliseconds);
  return { from: first, to: last };
}

const maxDays = 400;

/** Every day of the period, so that a chart shows days without usage too. */
export function daysOf({ from, to }: Period): string[] {
  const first = Date.parse(from);
  const count = Math.min(maxDays, Math.floor((Date.parse(to) - first) / dayMilliseconds) + 1);
  return Array.from({ length: Math.max(0, count) }, (_, day) => dayOf(first + day * dayMilliseconds));
}
