import { Alert, Badge, Button, Stack, Text } from '@mantine/core';
import type { Agent, DelegatedAccess, PolicyAccess } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink } from '../../../app/navigation.tsx';
import { AgentName } from '../../../components/AgentName.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { type Column, DataTable } from '../../../components/DataTable.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { LoadingState } from '../../../components/LoadingState.tsx';
import { RelativeTime } from '../../../components/RelativeTime.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { ScopeList } from '../agent/ScopeList.tsx';
import { Section } from '../agent/Section.tsx';
import { Grants } from './Grants.tsx';

/** Everything that the agent can do now, and through what. */
export function AccessTab({ agent }: { readonly agent: Agent }) {
  const params = { agentId: agent.agentId };
  const access = useApi('getAgentAccess', { params });
  return (
    <>
      <Grants agent={agent} />
      <Section
        title="Scopes of this server's API"
        description="Change them with Edit."
        actions={<CopyAsCurl operation="getAgentAccess" input={{ params }} />}
      >
        {access.data ? (
          <Stack gap="xs">
            <ScopeList
              scopes={access.data.active ? access.data.own : agent.allowedScopes}
              none="None. The agent cannot call this server's API for itself."
            />
            {access.data.role && (
              <Text size="sm">
                Role in its organization: <Badge tt="none">{access.data.role}</Badge>
              </Text>
            )}
            {!access.data.active && (
              <Alert color="yellow" icon={<Icon name="warning" />}>
                None of it counts now: {visibleText(access.data.inactiveReason ?? 'the agent is not active')}.
              </Alert>
            )}
          </Stack>
        ) : access.error ? (
          <ErrorState error={access.error} onRetry={() => void access.refetch()} />
        ) : (
          <LoadingState label="Loading the access of the agent" rows={2} />
        )}
      </Section>
      {access.data?.active && (
        <>
          <Delegated entries={access.data.delegated} agentId={agent.agentId} />
          <Policies entries={access.data.trustPolicies} agentId={agent.agentId} />
          {access.data.truncated && (
            <Text size="sm" c="dimmed">
              A list here has more than 100 entries; the newest 100 are shown.
            </Text>
          )}
        </>
      )}
    </>
  );
}

const delegatedColumns: readonly Column<DelegatedAccess>[] = [
  { id: 'for', header: 'Acts for', cell: ({ subjectId }) => <AgentName agentId={subjectId} /> },
  { id: 'from', header: 'Received from', cell: ({ delegatorId }) => <AgentName agentId={delegatorId} /> },
  { id: 'audiences', header: 'API', cell: ({ audiences }) => <TenantText text={audiences.join(', ')} /> },
  {
    id: 'scopes',
    header: 'Scopes now',
    cell: ({ scopes }) => <ScopeList scopes={scopes} none="none: no token is issued" />,
  },
  { id: 'expiresAt', header: 'Expires', cell: ({ expiresAt }) => <RelativeTime time={expiresAt} /> },
];

function Delegated({
  entries,
  agentId,
}: {
  readonly entries: readonly DelegatedAccess[];
  readonly agentId: string;
}) {
  return (
    <Section
      title="Through delegations"
      description="Active delegations to this agent, with the scopes that they give now"
      actions={
        <Button component={PageLink} to="/delegations" search={{ agentId }} variant="default">
          Delegations
        </Button>
      }
    >
      {entries.length > 0 ? (
        <DataTable
          label="Delegated access"
          rows={entries}
          columns={delegatedColumns}
          rowId={({ chainId }) => chainId}
        />
      ) : (
        <Text size="sm" c="dimmed">
          No agent has delegated anything to it.
        </Text>
      )}
    </Section>
  );
}

const policyColumns: readonly Column<PolicyAccess>[] = [
  { id: 'name', header: 'Policy', cell: ({ name }) => <TenantText text={name} /> },
  { id: 'issuer', header: 'Issuer', cell: ({ issuer }) => <TenantText text={issuer} /> },
  { id: 'subject', header: 'Subject', cell: ({ subject }) => <TenantText text={subject} fallback="any" /> },
  { id: 'scopes', header: 'Scopes', cell: ({ scopes }) => <ScopeList scopes={scopes} /> },
  {
    id: 'resources',
    header: 'APIs',
    cell: ({ resources }) =>
      resources.length === 0 ? (
        'none'
      ) : (
        <TenantText
          text={resources.map(({ identifier, scopes }) => `${identifier}: ${scopes.join(' ')}`).join('; ')}
        />
      ),
  },
  { id: 'role', header: 'Role', cell: ({ actsAsAdmin }) => (actsAsAdmin ? 'admin' : 'none') },
];

function Policies({
  entries,
  agentId,
}: {
  readonly entries: readonly PolicyAccess[];
  readonly agentId: string;
}) {
  return (
    <Section
      title="Trust policies"
      description="Workloads of other issuers that may become this agent"
      actions={
        <Button component={PageLink} to="/trust" search={{ agentId }} variant="default">
          Trust policies
        </Button>
      }
    >
      {entries.length > 0 ? (
        <DataTable
          label="Trust policies"
          rows={entries}
          columns={policyColumns}
          rowId={({ policyId }) => policyId}
        />
      ) : (
        <Text size="sm" c="dimmed">
          No trust policy lets a workload become this agent.
        </Text>
      )}
    </Section>
  );
}
