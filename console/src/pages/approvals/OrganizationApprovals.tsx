import { useState } from 'react';
import { type Approval, approvalStatuses } from '../../api/approvals.ts';
import { useApi } from '../../api/queries.ts';
import { PageLink, usePageSearch } from '../../app/navigation.tsx';
import { isAdmin } from '../../app/page.ts';
import { useSession } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { type Column, timeColumn } from '../../components/DataTable.tsx';
import { useFrozen } from '../../components/frozen.ts';
import { ListPage } from '../../components/ListPage.tsx';
import { PartyName } from '../../components/PartyName.tsx';
import { RowActions } from '../../components/RowActions.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { ApprovalSentence } from './ApprovalSentence.tsx';
import classes from './Approvals.module.css';
import { statusWords } from './approval-words.ts';
import { CancelApproval } from './CancelApproval.tsx';
import { approvalsPage } from './page.ts';

const limit = 20;

/** All requests of the organization, to read. Admins can cancel what waits. */
export function OrganizationApprovals() {
  const [search, setSearch] = usePageSearch(approvalsPage);
  const mayCancel = isAdmin(useSession());
  const [canceling, setCanceling] = useState<string>();
  const { status, agentId, page } = search;
  const input = { query: { status, agentId, page, limit } };
  const approvals = useApi('listApprovals', input, { keepPrevious: true });
  const canceled = useFrozen(
    approvals.data?.data.find(({ approvalId }) => approvalId === canceling),
    canceling,
  );
  const columns: readonly Column<Approval>[] = [
    {
      header: 'Request',
      cell: (approval) => (
        <PageLink
          to="/approvals/$approvalId"
          params={{ approvalId: approval.approvalId }}
          className={classes.link}
        >
          <ApprovalSentence
            approval={approval}
            agent={<AgentName agentId={approval.agentId} link={false} />}
          />
        </PageLink>
      ),
    },
    {
      header: 'Asked',
      width: '9rem',
      cell: ({ personId }) =>
        personId === null ? 'the approvers' : <PartyName type="person" id={personId} link={false} />,
    },
    {
      header: 'Status',
      width: '7rem',
      cell: (approval) => <StatusBadge status={approval.status} label={statusWords[approval.status]} />,
    },
    timeColumn('Requested', ({ createdAt }) => createdAt),
    timeColumn('Lapses or decided', ({ status: now, decidedAt, expiresAt }) =>
      now === 'pending' ? expiresAt : (decidedAt ?? expiresAt),
    ),
    ...(mayCancel
      ? [
          {
            header: 'Actions',
            width: '6rem',
            cell: ({ approvalId, status: now }: Approval) =>
              now === 'pending' && (
                <RowActions
                  of={approvalId.slice(0, 8)}
                  actions={{ Cancel: () => setCanceling(approvalId) }}
                />
              ),
          },
        ]
      : []),
  ];
  return (
    <>
      <ListPage
        withTitle={false}
        actions={<CopyAs operation="listApprovals" input={input} />}
        title="Approvals of the organization"
        noun="approvals"
        query={approvals}
        columns={columns}
        rowId={({ approvalId }) => approvalId}
        search={{ status, agentId, page }}
        onSearch={setSearch}
        filters={[
          {
            kind: 'choice',
            name: 'status',
            label: 'Status',
            options: approvalStatuses.map((value) => ({ value, label: statusWords[value] })),
          },
          { kind: 'agent', name: 'agentId', label: 'Agent' },
        ]}
        empty={{
          icon: 'approvals',
          title: 'No agent has asked yet',
          text: 'When an agent of the organization asks a person for an action, the request and its outcome appear here.',
        }}
      />
      <CancelApproval approval={canceled} onClose={() => setCanceling(undefined)} />
    </>
  );
}
