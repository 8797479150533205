import { useState } from 'react';
import type { Membership, Organization } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { useSession } from '../../../app/session-context.tsx';
import { AgentName } from '../../../components/AgentName.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { timeColumn } from '../../../components/DataTable.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { RowActions } from '../../../components/RowActions.tsx';
import { roleOptions, roleWord } from '../../../components/role-words.ts';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { organizationPage } from '../page.ts';
import { AddMember } from './AddMember.tsx';
import { ChangeMember } from './ChangeMember.tsx';

const limit = 50;

/** The agents with a role in the organization. */
export function MembersTab({ organization }: { readonly organization: Organization }) {
  const [search, setSearch] = usePageSearch(organizationPage);
  const [removing, setRemoving] = useState<string>();
  const { agentId: ownAgent } = useSession();
  const { organizationId } = organization;
  const role = search.role === 'viewer' ? undefined : search.role;
  const input = { params: { orgId: organizationId }, query: { role, page: search.page, limit } };
  const members = useApi('listMembers', input, { keepPrevious: true });
  const addButton = (
    <IconButton icon="plus" onClick={() => setSearch({ add: true })}>
      Add member
    </IconButton>
  );
  const columns: readonly Column<Membership>[] = [
    { header: 'Agent', cell: ({ agentId }) => <AgentName agentId={agentId} /> },
    {
      header: 'Role',
      width: '7rem',
      cell: (member) => <StatusBadge status={member.role} label={roleWord(member.role)} />,
    },
    timeColumn('Since', ({ joinedAt }) => joinedAt),
    {
      header: 'Actions',
      width: '13rem',
      cell: ({ agentId }) => (
        <RowActions
          of={`member ${agentId.slice(0, 8)}`}
          actions={{
            'Change role': () => setSearch({ change: agentId }),
            Remove: () => setRemoving(agentId),
          }}
        />
      ),
    },
  ];
  const shown = members.data?.data ?? [];
  const byId = (id: string | undefined) => shown.find(({ agentId }) => agentId === id);
  const changed = useFrozen(byId(search.change), search.change);
  const removed = useFrozen(byId(removing), removing);
  return (
    <>
      <ListPage
        withTitle={false}
        actions={<CopyAs operation="listMembers" input={input} />}
        create={addButton}
        title="Members"
        noun="members"
        query={members}
        columns={columns}
        rowId={({ agentId }) => agentId}
        search={{ role, page: search.page }}
        onSearch={setSearch}
        filters={[{ kind: 'choice', name: 'role', label: 'Role', options: roleOptions(['admin', 'member']) }]}
        empty={{
          icon: 'agents',
          title: 'No members yet',
          text: 'An agent with the role admin manages this organization: its members, its people and its billing.',
        }}
      />
      <AddMember
        organizationId={organizationId}
        opened={search.add}
        onClose={() => setSearch({ add: false })}
      />
      {changed && (
        <ChangeMember
          key={changed.agentId}
          member={changed}
          opened
          onClose={() => setSearch({ change: undefined })}
        />
      )}
      <ConfirmDialog
        opened={removed !== undefined}
        onClose={() => setRemoving(undefined)}
        title="Remove this member?"
        confirmLabel="Remove member"
        operation="removeMember"
        input={{ params: { orgId: organizationId, agentId: removed?.agentId ?? '' } }}
        refreshes={['/organizations']}
        doneMessage="Member removed."
      >
        <AgentName agentId={removed?.agentId} link={false} /> loses the role {roleWord(removed?.role ?? '')}{' '}
        on its next request. The agent, its credentials and its scopes stay.
        {removed?.agentId === ownAgent &&
          ' This is the agent that you act through: you may lose access to this page.'}
      </ConfirmDialog>
    </>
  );
}
