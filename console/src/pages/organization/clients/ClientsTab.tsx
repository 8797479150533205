import { Anchor, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Agent, Organization } from '../../../api/generated.ts';
import { useAction, useApi } from '../../../api/queries.ts';
import { PageLink, usePageSearch } from '../../../app/navigation.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { type Column, statusColumn, timeColumn } from '../../../components/DataTable.tsx';
import { ExternalLink } from '../../../components/ExternalLink.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { ListPage } from '../../../components/ListPage.tsx';
import { showDone, showError } from '../../../components/notices.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';
import { RowActions } from '../../../components/RowActions.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { organizationPage } from '../page.ts';
import { ClientPolicySection } from './ClientPolicySection.tsx';

const limit = 20;

/** The client policy, and the applications that came by a metadata document. */
export function ClientsTab({ organization }: { readonly organization: Organization }) {
  const [search, setSearch] = usePageSearch(organizationPage);
  const { organizationId } = organization;
  return (
    <Stack gap="md">
      <ClientPolicySection
        organizationId={organizationId}
        opened={search.add}
        onOpen={(add) => setSearch({ add })}
      />
      <Clients organizationId={organizationId} />
    </Stack>
  );
}

function Clients({ organizationId }: { readonly organizationId: string }) {
  const [search, setSearch] = usePageSearch(organizationPage);
  const [suspending, setSuspending] = useState<string>();
  const mayChange = useCan()('agents:write');
  const input = {
    query: {
      organizationId,
      registration: 'document',
      status: search.status,
      page: search.page,
      limit,
    },
  } as const;
  const clients = useApi('listAgents', input, { keepPrevious: true });
  const change = useAction('updateAgent', { refreshes: ['/agents'] });
  const activate = (agentId: string) =>
    change
      .mutateAsync({ params: { agentId }, body: { status: 'active' } })
      .then(() => showDone('Client activated.'), showError);
  const suspended = useFrozen(
    clients.data?.data.find(({ agentId }) => agentId === suspending),
    suspending,
  );
  const columns: readonly Column<Agent>[] = [
    {
      header: 'Host',
      cell: ({ agentId, owner }) => (
        <Anchor component={PageLink} to="/agents/$agentId" params={{ agentId }} inherit>
          <TenantText text={owner} />
        </Anchor>
      ),
    },
    { header: 'Document', cell: ({ clientUri }) => <ExternalLink href={clientUri ?? ''} /> },
    statusColumn('8.5rem'),
    timeColumn('First used', ({ createdAt }) => createdAt),
    {
      header: 'Actions',
      width: '7rem',
      cell: ({ agentId, owner, status }) =>
        mayChange && (
          <RowActions
            of={visibleText(owner)}
            actions={{
              Suspend: status === 'active' && (() => setSuspending(agentId)),
              Activate: status === 'suspended' && (() => void activate(agentId)),
            }}
          />
        ),
    },
  ];
  return (
    <>
      <ListPage
        withTitle={false}
        actions={<CopyAs operation="listAgents" input={input} />}
        title="Clients"
        noun="clients"
        query={clients}
        columns={columns}
        rowId={({ agentId }) => agentId}
        search={{ status: search.status, page: search.page }}
        onSearch={setSearch}
        filters={[
          {
            kind: 'choice',
            name: 'status',
            label: 'Status',
            options: ['active', 'suspended', 'decommissioned'],
          },
        ]}
        empty={{
          icon: 'agents',
          title: 'No clients yet',
          text: 'An application that describes itself in a document on the web becomes an agent when a person of the organization first lets it act for them. Applications that you register yourself are on the page Agents.',
        }}
      />
      <ConfirmDialog
        opened={suspended !== undefined}
        onClose={() => setSuspending(undefined)}
        title="Suspend this client?"
        confirmLabel="Suspend client"
        operation="updateAgent"
        input={{ params: { agentId: suspended?.agentId ?? '' }, body: { status: 'suspended' } }}
        refreshes={['/agents', '/delegations']}
        doneMessage="Client suspended."
      >
        <Stack gap="xs">
          <Text size="sm" component="div">
            The client of <TenantText text={suspended?.owner} /> acts for no person of the organization any
            more. What people have allowed it ends for good, with all that it passed on; they have to be asked
            again after an activation.
          </Text>
          <Text size="sm">Its access tokens end at once for introspection. {offlineVerificationNote()}</Text>
        </Stack>
      </ConfirmDialog>
    </>
  );
}
