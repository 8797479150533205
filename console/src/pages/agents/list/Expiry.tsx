import { Badge } from '@mantine/core';
import { RelativeTime } from '../../../components/RelativeTime.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';

const soonMilliseconds = 14 * 86_400_000;

/** When a secret expires. What has ended, or ends within 14 days, stands out. */
export function Expiry({ time }: { readonly time: string | null }) {
  if (time === null) return '–';
  const left = Date.parse(time) - Date.now();
  if (left <= 0) return <StatusBadge status="expired" />;
  if (left > soonMilliseconds) return <RelativeTime time={time} />;
  return (
    <Badge color="yellow" tt="none" miw="max-content">
      <RelativeTime time={time} />
    </Badge>
  );
}
