/** "42 s", "5 min", "3.5 h", "2 days": as exact as a person needs it. */
export function decisionTime(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 360) / 10} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
