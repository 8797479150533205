import { Alert, Badge, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Organization, Person } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { useProvider, useSession } from '../../../app/session-context.tsx';
import { AgentName } from '../../../components/AgentName.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { timeColumn } from '../../../components/DataTable.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { Icon } from '../../../components/Icon.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { RowActions } from '../../../components/RowActions.tsx';
import { roleOptions, roleWord } from '../../../components/role-words.ts';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { organizationPage } from '../page.ts';
import { ChangePerson } from './ChangePerson.tsx';
import { InvitePerson } from './InvitePerson.tsx';
import { PersonDetail } from './PersonDetail.tsx';

const limit = 50;
/** As many as an organization may have. */
const maxConnections = 20;

/** The people of the organization: who they are, through which provider they sign in, and which agents act for them. */
export function PeopleTab({ organization }: { readonly organization: Organization }) {
  const [search, setSearch] = usePageSearch(organizationPage);
  const [removing, setRemoving] = useState<string>();
  const { person: own } = useSession();
  const provider = useProvider();
  const { organizationId } = organization;
  const { role } = search;
  const params = { orgId: organizationId };
  const input = { params, query: { role, page: search.page, limit } };
  const people = useApi('listPeople', input, { keepPrevious: true });
  const connections = useApi('listConnections', { params, query: { limit: maxConnections } });
  const known = connections.data?.data ?? [];
  const connectionOf = ({ connectionId }: Person) => known.find((one) => one.connectionId === connectionId);
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
    {
      header: 'E-mail or subject',
      cell: (person) => (
        <Stack gap={0} maw="15rem">
          <TenantText text={person.email ?? person.subject} />
          <Text size="xs" c="dimmed" component="div">
            <SignInMethod
              person={person}
              connection={connectionOf(person)?.name}
              isInstance={person.issuer === provider?.issuer}
            />
          </Text>
        </Stack>
      ),
    },
    {
      header: 'Role',
      width: '6rem',
      cell: (person) => <StatusBadge status={person.role} label={roleWord(person.role)} />,
    },
    {
      header: 'Status',
      width: '7rem',
      cell: ({ issuer, status }) =>
        issuer === null && status === 'active' ? (
          <StatusBadge status="pending" label="invited" />
        ) : (
          <StatusBadge status={status} />
        ),
    },
    { header: 'Acts through', cell: ({ agentId }) => <AgentName agentId={agentId} /> },
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
      {provider === null && connections.data?.total === 0 && (
        <Alert color="yellow" icon={<Icon name="warning" />} title="No OpenID provider is set up" mb="sm">
          Invited people cannot sign in until you add a connection, or until the operator of this instance
          sets <code>CONSOLE_OIDC_ISSUER</code>, <code>CONSOLE_OIDC_CLIENT_ID</code> and{' '}
          <code>CONSOLE_OIDC_CLIENT_SECRET</code>.
        </Alert>
      )}
      <ListPage
        withTitle={false}
        actions={<CopyAs operation="listPeople" input={input} />}
        create={inviteButton}
        title="People"
        noun="people"
        query={people}
        columns={columns}
        rowId={({ personId }) => personId}
        search={{ role, page: search.page, selected: search.selected }}
        onSearch={setSearch}
        filters={[
          {
            kind: 'choice',
            name: 'role',
            label: 'Role',
            options: roleOptions(['admin', 'viewer', 'member']),
          },
        ]}
        detail={{
          title: (_, person) => (person ? <TenantText text={person.name} /> : 'Person'),
          render: (personId, person) => (
            <PersonDetail
              key={personId}
              organizationId={organizationId}
              personId={personId}
              person={person}
              connectionName={person && connectionOf(person)?.name}
            />
          ),
        }}
        empty={{
          icon: 'account',
          title: 'No people yet',
          text: 'Invite colleagues, so that they sign in with their own account, and the audit log shows their names.',
        }}
      />
      {(connections.data || connections.error) && (
        <InvitePerson
          key={`${provider?.issuer} ${known.map(({ connectionId }) => connectionId).join()}`}
          organizationId={organizationId}
          connections={known.filter(({ status }) => status === 'active')}
          issuer={provider?.issuer ?? ''}
          opened={search.add}
          onClose={() => setSearch({ add: false })}
        />
      )}
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
        refreshes={['/organizations', '/delegations']}
        doneMessage="Person removed. The sessions of this person have ended."
        onDone={() => setSearch({ selected: undefined })}
      >
        <TenantText text={removed?.name} /> loses the role {roleWord(removed?.role ?? '')}. Open sessions of
        this person end at once, and no agent acts for this person any more: what they have allowed ends for
        good.
        {removed?.agentId && (
          <>
            {' '}
            The agent <AgentName agentId={removed.agentId} link={false} /> stays as it is.
          </>
        )}
        {removed?.connectionId &&
          ' A person who signs in through the connection again becomes a new member: suspend the person instead to prevent it.'}
        {removed && removed.personId === own?.personId && ' This is you: you will be signed out.'}
      </ConfirmDialog>
    </>
  );
}

interface SignInMethodProps {
  readonly person: Person;
  readonly connection: string | undefined;
  readonly isInstance: boolean;
}

/** How the person signs in: a connection, or a provider by its issuer. */
function SignInMethod({ person: { connectionId, issuer }, connection, isInstance }: SignInMethodProps) {
  if (connection !== undefined) return <TenantText text={`through ${connection}`} />;
  if (connectionId !== null) return <>through a connection</>;
  return isInstance ? <>through the provider of this instance</> : <TenantText text={issuer} />;
}
