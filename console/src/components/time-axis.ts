/** Round labels for the times on the axis of a chart. A chart shows all labels that these functions choose. */

/** Minutes. The larger ones are hours, up to half a day. */
const minuteSteps = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720] as const;
const dayMilliseconds = 86_400_000;
const hourMinutes = 60;
const monday = 1;

const clocks = new Map<string | undefined, Intl.DateTimeFormat>();

/** `03:12` in the reader's time zone, or in another. */
export function clockTime(time: string, timeZone?: string): string {
  let clock = clocks.get(timeZone);
  if (!clock) {
    clock = new Intl.DateTimeFormat('en-GB', {
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      timeZone,
    });
    clocks.set(timeZone, clock);
  }
  return clock.format(new Date(time));
}

/** At most `most` of these times: full minutes, quarters of an hour, hours. */
export function clockTicks(times: readonly string[], most: number, timeZone?: string): string[] {
  const minuteOfDay = (time: string): number => {
    const [hours = 0, minutes = 0] = clockTime(time, timeZone).split(':').map(Number);
    return hours * hourMinutes + minutes;
  };
  return firstThatFits(
    minuteSteps.map((step) => (time: string) => minuteOfDay(time) % step === 0),
    times,
    most,
  );
}

const dayName = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** `Nov 17` of `2026-11-17`, a day of UTC. */
export const dayLabel = (day: string): string => dayName.format(new Date(day));

const dayChoices: readonly ((day: string) => boolean)[] = [
  () => true,
  (day) => (Date.parse(day) / dayMilliseconds) % 2 === 0,
  (day) => new Date(day).getUTCDay() === monday,
  (day) => day.endsWith('-01'),
  (day) => /-(?:01|04|07|10)-01$/.test(day),
];

/** At most `most` of these days: all, every second one, Mondays, or first days of months. */
export const dayTicks = (days: readonly string[], most: number): string[] =>
  firstThatFits(dayChoices, days, most);

/** The choice with the most labels that have room. Not even the last one may have: then its first labels. */
function firstThatFits(
  choices: readonly ((value: string) => boolean)[],
  values: readonly string[],
  most: number,
): string[] {
  let chosen: string[] = [];
  for (const choice of choices) {
    const next = values.filter(choice);
    if (next.length === 0) break;
    chosen = next;
    if (chosen.length <= most) break;
  }
  return chosen.slice(0, Math.max(1, most));
}
