import { exactTime } from '../../components/RelativeTime.tsx';

/** Says that a busy organization has more events than the server counts for the overview. */
export function TruncationNote({ before }: { readonly before: string | null }) {
  return before ? <>Only the newest 50,000 events are counted: those since {exactTime(before)}.</> : null;
}
