import type { OverviewRefusals } from '../../api/generated.ts';
import { useGoTo } from '../../app/navigation.tsx';
import type { ChartRow } from '../../components/Chart.tsx';
import { ChartWithTable } from '../../components/ChartWithTable.tsx';
import { visibleText } from '../../components/TenantText.tsx';
import { TruncationNote } from './TruncationNote.tsx';

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
