import { Button, Chip, Group, Text } from '@mantine/core';
import { useMemo } from 'react';
import type { OwnApproval } from '../../api/approvals.ts';
import { useOwnApprovals } from '../../api/own-approvals.ts';
import { PageLink, useGoTo, usePageSearch } from '../../app/navigation.tsx';
import type { Column } from '../../components/DataTable.tsx';
import type { EmptyStateProps } from '../../components/EmptyState.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { visibleText } from '../../components/TenantText.tsx';
import { ApprovalSentence } from './ApprovalSentence.tsx';
import { statusWords } from './approval-words.ts';
import { approvalsPage, ownViews } from './page.ts';

const limit = 20;

type View = (typeof ownViews)[number];

const labels: Readonly<Record<View, string>> = {
  pending: 'Waiting',
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Lapsed',
  canceled: 'Canceled',
  all: 'All',
};

const empty: Readonly<Record<View, EmptyStateProps>> = {
  pending: {
    icon: 'approvals',
    title: 'Nothing waits for you',
    text: 'When an agent asks you for an action, it appears here at once, and you decide.',
  },
  approved: { icon: 'check', title: 'Nothing was approved' },
  denied: { icon: 'close', title: 'Nothing was denied' },
  expired: { icon: 'clock', title: 'Nothing has lapsed' },
  canceled: { icon: 'close', title: 'Nothing was canceled' },
  all: { icon: 'approvals', title: 'No agent has asked you yet' },
};

/** The requests that were addressed to the person. */
export function OwnApprovals() {
  const [search, setSearch] = usePageSearch(approvalsPage);
  const goTo = useGoTo();
  const { show, page } = search;
  const approvals = useOwnApprovals({ status: show === 'all' ? undefined : show, page, limit });
  const columns = useMemo<readonly Column<OwnApproval>[]>(
    () => [
      { header: 'Request', cell: (approval) => <Request approval={approval} /> },
      ...(show === 'all'
        ? [
            {
              header: 'Status',
              width: '7rem',
              cell: ({ status }: OwnApproval) => <StatusBadge status={status} label={statusWords[status]} />,
            },
          ]
        : []),
      {
        header: show === 'pending' ? 'Lapses' : 'When',
        width: '9rem',
        cell: ({ status, decidedAt, expiresAt }) => (
          <RelativeTime time={status === 'pending' ? expiresAt : (decidedAt ?? expiresAt)} />
        ),
      },
      {
        header: 'Actions',
        width: '6rem',
        cell: ({ approvalId, agentName, status }) => (
          <Button
            component={PageLink}
            to="/approvals/$approvalId"
            params={{ approvalId }}
            variant={status === 'pending' ? 'filled' : 'default'}
            size="compact-xs"
            aria-label={`${status === 'pending' ? 'Decide' : 'Show'}: ${visibleText(agentName)}`}
          >
            {status === 'pending' ? 'Decide' : 'Show'}
          </Button>
        ),
      },
    ],
    [show],
  );
  return (
    <ListPage
      withTitle={false}
      title="Approvals"
      noun="approvals"
      query={approvals}
      columns={columns}
      rowId={({ approvalId }) => approvalId}
      search={{ page }}
      onSearch={setSearch}
      onOpen={({ approvalId }) => goTo({ to: '/approvals/$approvalId', params: { approvalId } })}
      empty={empty[show]}
    >
      <Chip.Group
        value={show}
        onChange={(next) => setSearch({ show: ownViews.find((one) => one === next) ?? 'pending', page: 1 })}
      >
        <Group gap="xs" mb="sm" role="radiogroup" aria-label="Status">
          {ownViews.map((view) => (
            <Chip key={view} value={view} size="xs" radius="sm">
              {labels[view]}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </ListPage>
  );
}

function Request({ approval }: { readonly approval: OwnApproval }) {
  const { agentName, status, approvals, requiredApprovals } = approval;
  return (
    <>
      <ApprovalSentence approval={approval} agent={<bdi>{visibleText(agentName)}</bdi>} />
      {status === 'pending' && requiredApprovals > 1 && (
        <Text size="xs" c="dimmed">
          {approvals.length} of {requiredApprovals} people have approved.
        </Text>
      )}
    </>
  );
}
