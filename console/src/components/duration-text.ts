const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** "1 hour", "1 hour 30 minutes": exact, so that a longer time cannot look like a shorter one. */
export function durationText(seconds: number): string {
  let rest = seconds;
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? '' : 's'}`);
  }
  return parts.join(' ') || '0 seconds';
}
