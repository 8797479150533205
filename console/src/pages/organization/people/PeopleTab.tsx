import { Alert, Badge, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Organization, Person } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { useProvider, useSession } from '../../../app/session-context.tsx';
import { AgentName } from '../../../components/AgentName.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { timeColumn } from '../../../components/DataTable.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { Icon } from '../../../components/Icon.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { RowActions } from '../../../components/RowActions.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { organizationPage } from '../page.ts';
import { ChangePerson } from './ChangePerson.tsx';
import { InvitePerson } from './InvitePerson.tsx';

const limit = 50;

/** The people who may sign in to the console through the OpenID provider. */
export function PeopleTab({ organization }: { readonly organization: Organization }) {
  const [search, setSearch] = usePageSearch(organizationPage);
  const [removing, setRemoving] = useState<string>();
  const { person: own } = useSession();
  const provider = useProvider();
  const { organizationId } = organization;
  const role = search.role === 'member' ? undefined : search.role;
  const input = { params: { orgId: organizationId }, query: { role, page: search.page, limit } };
  const people = useApi('listPeople', input, { keepPrevious: true });
  const inviteButton = (
    <IconButton icon="plus" onClick={() => setSearch({ add: true })}>
      Invite person
    </IconButton>
  );
  const columns: readonly Column<Person>[] = [
    {
      header: 'Name',
      cell: ({ name, personId }) => (
        <Group gap="xs" wrap="nowrap">
          <TenantText text={name} />
          {personId === own?.personId && <Badge tt="none">you</Badge>}
        </Group>
      ),
    },
    { header: 'Role', width: '6rem', cell: (person) => <StatusBadge status={person.role} /> },
    { header: 'Acts through', cell: ({ agentId }) => <AgentName agentId={agentId} /> },
    {
      header: 'Identity',
      cell: ({ issuer, subject }) => (
        <Stack gap={0} maw="13rem">
          <TenantText text={subject} />
          {issuer !== provider?.issuer && (
            <Text size="xs" c="dimmed" component="div">
              <TenantText text={issuer} />
            </Text>
          )}
        </Stack>
      ),
    },
    timeColumn('Last sign-in', ({ lastSignInAt }) => lastSignInAt),
    {
      header: 'Actions',
      width: '10.5rem',
      cell: ({ personId, name }) => (
        <RowActions
          of={visibleText(name)}
          actions={{ Change: () => setSearch({ change: personId }), Remove: () => setRemoving(personId) }}
        />
      ),
    },
  ];
  const shown = people.data?.data ?? [];
  const byId = (id: string | undefined) => shown.find(({ personId }) => personId === id);
  const changed = useFrozen(byId(search.change), search.change);
  const removed = useFrozen(byId(removing), removing);
  return (
    <>
      {provider === null && (
        <Alert color="yellow" icon={<Icon name="warning" />} title="No OpenID provider is set up" mb="sm">
          Invited people cannot sign in until the operator of this instance sets{' '}
          <code>CONSOLE_OIDC_ISSUER</code>, <code>CONSOLE_OIDC_CLIENT_ID</code> and{' '}
          <code>CONSOLE_OIDC_CLIENT_SECRET</code>.
        </Alert>
      )}
      <ListPage
        withTitle={false}
        actions={
          <>
            <CopyAsCurl operation="listPeople" input={input} />
            {inviteButton}
          </>
        }
        title="People"
        noun="people"
        query={people}
        columns={columns}
        rowId={({ personId }) => personId}
        search={{ role, page: search.page }}
        onSearch={setSearch}
        filters={[{ kind: 'choice', name: 'role', label: 'Role', options: ['admin', 'viewer', 'member'] }]}
        empty={{
          icon: 'account',
          title: 'No people yet',
          text: 'Invite colleagues, so that they sign in with their own account, and the audit log shows their names.',
          action: inviteButton,
        }}
      />
      <InvitePerson
        key={provider?.issuer ?? 'none'}
        organizationId={organizationId}
        issuer={provider?.issuer ?? ''}
        opened={search.add}
        onClose={() => setSearch({ add: false })}
      />
      {changed && (
        <ChangePerson
          key={changed.personId}
          person={changed}
          opened
          onClose={() => setSearch({ change: undefined })}
        />
      )}
      <ConfirmDialog
        opened={removed !== undefined}
        onClose={() => setRemoving(undefined)}
        title="Remove this person?"
        confirmLabel="Remove person"
        operation="removePerson"
        input={{ params: { orgId: organizationId, personId: removed?.personId ?? '' } }}
        refreshes={['/organizations']}
        doneMessage="Person removed. The sessions of this person have ended."
      >
        <TenantText text={removed?.name} /> cannot sign in to this organization any more. Open sessions of
        this person end at once. The agent <AgentName agentId={removed?.agentId} link={false} /> stays as it
        is.
        {removed && removed.personId === own?.personId && ' This is you: you will be signed out.'}
      </ConfirmDialog>
    </>
  );
}
