/** The grants of an agent: scopes of registered APIs. */
import { Anchor } from '@mantine/core';
import { useState } from 'react';
import type { Agent, Grant } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink, usePageSearch } from '../../../app/navigation.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { AgentName } from '../../../components/AgentName.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { type Column, timeColumn } from '../../../components/DataTable.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';
import { RowActions } from '../../../components/RowActions.tsx';
import { ScopeList } from '../../../components/ScopeList.tsx';
import { Section } from '../../../components/Section.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { agentPage } from '../page.ts';
import { GrantScopes } from './GrantScopes.tsx';

const limit = 20;

type Opened = { readonly grant?: Grant; readonly dialog: 'grant' | 'remove' };

export function Grants({ agent }: { readonly agent: Agent }) {
  const [{ page }, setSearch] = usePageSearch(agentPage);
  const [opened, setOpened] = useState<Opened>();
  const mayWrite = useCan()('agents:write');
  const input = { params: { agentId: agent.agentId }, query: { page, limit } };
  const grants = useApi('listAgentGrants', input, { keepPrevious: true });
  const mayGrant = mayWrite && agent.status !== 'decommissioned';
  const grantButton = mayGrant && (
    <IconButton icon="plus" onClick={() => setOpened({ dialog: 'grant' })}>
      Grant scopes
    </IconButton>
  );
  const columns: readonly Column<Grant>[] = [
    {
      header: 'API',
      cell: ({ identifier, resourceId }) => (
        <Anchor component={PageLink} to="/apis/$resourceId" params={{ resourceId }} inherit>
          <TenantText text={identifier} />
        </Anchor>
      ),
    },
    { header: 'Scopes', cell: ({ scopes }) => <ScopeList scopes={scopes} /> },
    { header: 'Granted by', cell: ({ grantedBy }) => <AgentName agentId={grantedBy} /> },
    timeColumn('Changed', ({ updatedAt }) => updatedAt),
    ...(mayWrite
      ? [
          {
            header: 'Actions',
            width: '11rem',
            cell: (grant: Grant) => (
              <RowActions
                nameOf={(label) => `${label} the grant of ${visibleText(grant.identifier)}`}
                actions={{
                  Change: mayGrant && (() => setOpened({ dialog: 'grant', grant })),
                  Remove: () => setOpened({ dialog: 'remove', grant }),
                }}
              />
            ),
          },
        ]
      : []),
  ];
  return (
    <Section
      title="Grants of your APIs"
      description="The scopes of registered APIs that its tokens can carry"
      actions={
        <>
          <CopyAs operation="listAgentGrants" input={input} />
          {grantButton}
        </>
      }
    >
      <ListPage
        withTitle={false}
        title="Grants"
        noun="grants"
        query={grants}
        columns={columns}
        rowId={({ resourceId }) => resourceId}
        search={{}}
        onSearch={setSearch}
        empty={{
          icon: 'apis',
          title: 'No grants yet',
          text: 'Grant scopes of a registered API, and the agent can ask for tokens for that API.',
        }}
      />
      <GrantScopes
        agent={agent}
        grant={opened?.grant}
        opened={opened?.dialog === 'grant'}
        onClose={() => setOpened(undefined)}
      />
      <RemoveGrant
        agent={agent}
        grant={opened?.grant}
        opened={opened?.dialog === 'remove'}
        onClose={() => setOpened(undefined)}
      />
    </Section>
  );
}

interface RemoveGrantProps extends DialogProps {
  readonly agent: Agent;
  readonly grant: Grant | undefined;
}

function RemoveGrant({ agent, grant, opened, onClose }: RemoveGrantProps) {
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title="Remove this grant?"
      confirmLabel="Remove grant"
      operation="deleteAgentGrant"
      input={{ params: { agentId: agent.agentId, resourceId: grant?.resourceId ?? '' } }}
      refreshes={['/agents', '/resources']}
      doneMessage="Grant removed."
    >
      The agent gets no more tokens for <TenantText text={grant?.identifier} multiline />. Its tokens for that
      API end at once for introspection, and so does the power of delegations that pass these scopes on.{' '}
      {offlineVerificationNote()}
      <div style={{ marginTop: '0.5rem' }}>
        <ScopeList scopes={grant?.scopes ?? []} />
      </div>
    </ConfirmDialog>
  );
}
