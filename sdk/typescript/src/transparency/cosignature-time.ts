/** The Gregorian calendar repeats after 400 years. */
const cycleSeconds = 146_097 * 86_400;

/** The time of a cosignature as ISO 8601. A witness can name any time, also one that no Date can hold. */
export function isoTimeOf(seconds: number): string {
  const inCycle = new Date((seconds % cycleSeconds) * 1_000).toISOString();
  const year = Number(inCycle.slice(0, 4)) + 400 * Math.floor(seconds / cycleSeconds);
  return `${year < 10_000 ? year : `+${String(year).padStart(6, '0')}`}${inCycle.slice(4)}`;
}
