import { Text } from '@mantine/core';
import type { OverviewRefusals, OverviewTokens } from '../../api/generated.ts';
import { useGoTo } from '../../app/navigation.tsx';
import { BarList, type BarListRow } from '../../components/BarList.tsx';
import { ChartWithTable } from '../../components/ChartWithTable.tsx';
import { exactTime } from '../../components/exact-time.ts';
import { Section } from '../../components/Section.tsx';
import { visibleText } from '../../components/TenantText.tsx';
import { clockTicks, clockTime } from '../../components/time-axis.ts';

const minuteMilliseconds = 60_000;

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
      rows={tokens.data}
      x={{
        key: 'minute',
        label: 'Minute',
        format: (minute) => clockTime(minute),
        ticks: (minutes, most) => clockTicks(minutes, most),
      }}
      series={[
        { key: 'issued', label: 'Issued', tone: 'main' },
        { key: 'refused', label: 'Refused', tone: 'bad' },
      ]}
      stacked
      onSelect={({ minute }) => openMinute(String(minute))}
      note={
        <>
          {issued.toLocaleString('en')} issued and {refused.toLocaleString('en')} refused in the last 60
          minutes. <TruncationNote before={tokens.truncatedBefore} />
        </>
      }
    />
  );
}

/** The part of the service that refused, by the action of the event. */
const areas: Readonly<Record<string, string>> = {
  'token.refused': 'Token',
  'authentication.refused': 'Call',
  'policy.refused': 'Policy',
  'session.refused': 'Sign-in',
};
const suppressed = 'refusals.suppressed';
const maxLabel = 120;

const labelOf = ({ action, reason }: OverviewRefusals['data'][number]): string => {
  if (action === suppressed) return 'Many of one minute, without an event each';
  const text = `${areas[action] ?? action}: ${visibleText(reason ?? 'no reason')}`;
  if (text.length <= maxLabel) return text;
  // The fault without the advice after it, where that is enough: "client authentication failed: check the client id".
  const end = text.lastIndexOf(': ', maxLabel);
  return end > text.indexOf(': ') ? text.slice(0, end) : `${text.slice(0, maxLabel - 1)}…`;
};

interface RefusalRow extends BarListRow {
  readonly action: string;
  readonly reason: string | null;
}

/** A click on a bar opens the refusals with that reason in the audit log. */
export function RefusalsChart({ refusals }: { readonly refusals: OverviewRefusals }) {
  const goTo = useGoTo();
  const open = ({ action, reason }: RefusalRow) =>
    goTo({
      to: '/audit',
      search: { action, outcome: 'failure', ...(reason && { reason }), from: refusals.since },
    });
  return (
    <Section title="Refusals by reason">
      <BarList label="Refusals by reason" rows={toRows(refusals)} onSelect={open} />
      <Text size="xs" c="dimmed" mt="xs">
        {refusals.total.toLocaleString('en')} in the last 24 hours.{' '}
        <TruncationNote before={refusals.truncatedBefore} />
      </Text>
    </Section>
  );
}

const toRows = ({ data }: OverviewRefusals): RefusalRow[] =>
  data.map((refusal) => ({
    ...refusal,
    id: `${refusal.action} ${refusal.reason}`,
    label: labelOf(refusal),
  }));

/** Says that a busy organization has more events than the server counts for the overview. */
function TruncationNote({ before }: { readonly before: string | null }) {
  return before ? <>Only the newest 50,000 events are counted: those since {exactTime(before)}.</> : null;
}
