import type { OverviewExpiringCredentials } from '../../api/generated.ts';
import { type Column, timeColumn } from '../../components/DataTable.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { agentColumn, OverviewTable } from './OverviewTable.tsx';

type Credential = OverviewExpiringCredentials['data'][number];

const idStart = 8;

const columns: readonly Column<Credential>[] = [
  agentColumn('credentials'),
  {
    header: 'Credential',
    cell: ({ name, credentialId }) =>
      name ? <TenantText text={name} /> : <code title={credentialId}>{credentialId.slice(0, idStart)}</code>,
  },
  timeColumn('Expires', ({ expiresAt }) => expiresAt),
];

export function ExpiringCredentials({ credentials }: { readonly credentials: OverviewExpiringCredentials }) {
  const { data, total } = credentials;
  return (
    <OverviewTable
      title="Credentials that expire within 14 days"
      label="Expiring credentials"
      rows={data}
      columns={columns}
      rowId={({ credentialId }) => credentialId}
      total={total}
      order="next"
    />
  );
}
