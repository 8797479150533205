import { Paper, Text, Title } from '@mantine/core';
import type { OverviewExpiringCredentials } from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import { type Column, DataTable } from '../../components/DataTable.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './OverviewPage.module.css';

type Credential = OverviewExpiringCredentials['data'][number];

const idStart = 8;

const columns: readonly Column<Credential>[] = [
  {
    id: 'agent',
    header: 'Agent',
    cell: ({ agentId, email }) => (
      <PageLink
        to="/agents/$agentId"
        params={{ agentId }}
        search={{ tab: 'credentials' }}
        className={classes.link}
      >
        <TenantText text={email} />
      </PageLink>
    ),
  },
  {
    id: 'credential',
    header: 'Credential',
    cell: ({ name, credentialId }) =>
      name ? <TenantText text={name} /> : <code title={credentialId}>{credentialId.slice(0, idStart)}</code>,
  },
  {
    id: 'expires',
    header: 'Expires',
    cell: ({ expiresAt }) => <RelativeTime time={expiresAt} />,
    width: '8rem',
  },
];

export function ExpiringCredentials({ credentials }: { readonly credentials: OverviewExpiringCredentials }) {
  const { data, total } = credentials;
  return (
    <Paper component="section" aria-label="Expiring credentials">
      <Title order={2} mb="xs">
        Credentials that expire within 14 days
      </Title>
      {data.length === 0 ? (
        <Text size="sm" c="dimmed">
          None.
        </Text>
      ) : (
        <div className={classes.scroll}>
          <DataTable
            label="Expiring credentials"
            rows={data}
            columns={columns}
            rowId={({ credentialId }) => credentialId}
          />
        </div>
      )}
      {total > data.length && (
        <Text size="xs" c="dimmed" mt={4}>
          The next {data.length} of {total >= 1_000 ? '1,000 or more' : total.toLocaleString('en')}.
        </Text>
      )}
    </Paper>
  );
}
