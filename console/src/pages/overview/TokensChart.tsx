import type { OverviewTokens } from '../../api/generated.ts';
import { useGoTo } from '../../app/navigation.tsx';
import { ChartWithTable } from '../../components/ChartWithTable.tsx';
import { TruncationNote } from './TruncationNote.tsx';

const minuteMilliseconds = 60_000;
/** `03:12` of an ISO time. */
const clockTime = (minute: string): string => minute.slice(11, 16);

/** A click on a minute opens its token events in the audit log. */
export function TokensChart({ tokens }: { readonly tokens: OverviewTokens }) {
  const goTo = useGoTo();
  const openMinute = (minute: string) => {
    const to = new Date(Date.parse(minute) + minuteMilliseconds - 1).toISOString();
    goTo({ to: '/audit', search: { action: 'token.*', from: minute, to } });
  };
  const issued = tokens.data.reduce((sum, row) => sum + row.issued, 0);
  const refused = tokens.data.reduce((sum, row) => sum + row.refused, 0);
  return (
    <ChartWithTable
      title="Tokens per minute"
      rows={issued + refused === 0 ? [] : tokens.data}
      x={{ key: 'minute', label: 'Minute (UTC)', format: clockTime }}
      series={[
        { key: 'issued', label: 'Issued', tone: 'main' },
        { key: 'refused', label: 'Refused', tone: 'bad' },
      ]}
      stacked
      onSelect={({ minute }) => openMinute(String(minute))}
      emptyText="No tokens in the last 60 minutes"
      note={
        <>
          {issued.toLocaleString('en')} issued and {refused.toLocaleString('en')} refused in the last 60
          minutes. <TruncationNote before={tokens.truncatedBefore} />
        </>
      }
    />
  );
}
