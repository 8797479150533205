import { type Column, DataTable } from '../../../components/DataTable.tsx';
import { limitText, type PlanTier, planRows } from './plans.ts';

type PlanRow = (typeof planRows)[number];

/** What changes from one plan to another. */
export function PlanTable({ from, to }: { readonly from: PlanTier; readonly to: PlanTier }) {
  const column = (id: string, tier: PlanTier, header: string): Column<PlanRow> => ({
    id,
    header,
    align: 'right',
    cell: ({ of }) => limitText(of(tier)),
  });
  return (
    <DataTable
      label={`Limits of ${from} and ${to}`}
      rows={planRows}
      columns={[
        { id: 'limit', header: 'Limit', cell: ({ label }) => label },
        column('from', from, `Now (${from})`),
        column('to', to, `Then (${to})`),
      ]}
      rowId={({ label }) => label}
    />
  );
}
