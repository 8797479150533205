import type { OverviewRefusals, OverviewTokens } from '../../api/generated.ts';
import { useGoTo } from '../../app/navigation.tsx';
import type { ChartRow } from '../../components/Chart.tsx';
import { ChartWithTable } from '../../components/ChartWithTable.tsx';
import { exactTime } from '../../components/RelativeTime.tsx';
import { visibleText } from '../../components/TenantText.tsx';

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

/** The part of the service that refused, by the action of the event. */
const areas: Readonly<Record<string, string>> = {
  'token.refused': 'Token',
  'authentication.refused': 'Call',
  'policy.refused': 'Policy',
  'session.refused': 'Sign-in',
};
const suppressed = 'refusals.suppressed';
const maxLabel = 60;

const labelOf = ({ action, reason }: OverviewRefusals['data'][number]): string => {
  if (action === suppressed) return 'Many of one minute, without an event each';
  const text = `${areas[action] ?? action}: ${visibleText(reason ?? 'no reason')}`;
  if (text.length <= maxLabel) return text;
  // The fault without the advice after it, where that is enough: "client authentication failed: check the client id".
  const end = text.lastIndexOf(': ', maxLabel);
  return end > text.indexOf(': ') ? text.slice(0, end) : `${text.slice(0, maxLabel - 1)}…`;
};

const barHeight = 34;
const axisHeight = 40;
const minHeight = 220;

/** A click on a bar opens the refusals with that reason in the audit log. */
export function RefusalsChart({ refusals }: { readonly refusals: OverviewRefusals }) {
  const goTo = useGoTo();
  const rows = toRows(refusals);
  const open = ({ action, reason }: ChartRow) =>
    goTo({
      to: '/audit',
      search: {
        action: String(action),
        outcome: 'failure',
        ...(reason && { reason: String(reason) }),
        from: refusals.since,
      },
    });
  return (
    <ChartWithTable
      title="Refusals by reason"
      rows={rows}
      x={{ key: 'label', label: 'Reason' }}
      series={[{ key: 'count', label: 'Refusals', tone: 'bad' }]}
      horizontal
      height={Math.max(minHeight, rows.length * barHeight + axisHeight)}
      onSelect={open}
      emptyText="No refusals in the last 24 hours"
      note={
        <>
          {refusals.total.toLocaleString('en')} in the last 24 hours.{' '}
          <TruncationNote before={refusals.truncatedBefore} />
        </>
      }
    />
  );
}

/** Reasons that begin alike keep one row each. */
function toRows({ data }: OverviewRefusals): ChartRow[] {
  const seen = new Map<string, number>();
  return data.map((refusal) => {
    const label = labelOf(refusal);
    const times = (seen.get(label) ?? 0) + 1;
    seen.set(label, times);
    return {
      label: times === 1 ? label : `${label} (${times})`,
      count: refusal.count,
      action: refusal.action,
      reason: refusal.reason ?? '',
    };
  });
}

/** Says that a busy organization has more events than the server counts for the overview. */
function TruncationNote({ before }: { readonly before: string | null }) {
  return before ? <>Only the newest 50,000 events are counted: those since {exactTime(before)}.</> : null;
}
