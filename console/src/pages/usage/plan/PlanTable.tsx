import { type PlanTier, plans, unlimited } from '../../../api/generated.ts';
import { type Column, DataTable } from '../../../components/DataTable.tsx';

/** The limits of each plan, from the contract of the server. */
const planRows: readonly { readonly label: string; readonly of: (tier: PlanTier) => number }[] = [
  { label: 'Agents', of: (tier) => plans[tier].maxAgents },
  { label: 'API calls a day', of: (tier) => plans[tier].maxCallsPerDay },
  { label: 'Tokens a day', of: (tier) => plans[tier].maxTokensPerDay },
  { label: 'Tokens a month for each agent', of: (tier) => plans[tier].maxTokensPerMonthPerClient },
];

const limitText = (limit: number): string => (limit >= unlimited ? 'unlimited' : limit.toLocaleString('en'));

type PlanRow = (typeof planRows)[number];

/** What changes from one plan to another. */
export function PlanTable({ from, to }: { readonly from: PlanTier; readonly to: PlanTier }) {
  const column = (tier: PlanTier, header: string): Column<PlanRow> => ({
    header,
    align: 'right',
    cell: ({ of }) => limitText(of(tier)),
  });
  return (
    <DataTable
      label={`Limits of ${from} and ${to}`}
      rows={planRows}
      columns={[
        { header: 'Limit', cell: ({ label }) => label },
        column(from, `Now (${from})`),
        column(to, `Then (${to})`),
      ]}
      rowId={({ label }) => label}
    />
  );
}
