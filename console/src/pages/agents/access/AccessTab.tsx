import { Alert, Badge, Button, Stack, Text } from '@mantine/core';
import type { Agent, DelegatedAccess, PolicyAccess } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink } from '../../../app/navigation.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { type Column, TableOrText, timeColumn } from '../../../components/DataTable.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { PartyName } from '../../../components/PartyName.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { roleWord } from '../../../components/role-words.ts';
import { ScopeList } from '../../../components/ScopeList.tsx';
import { Section } from '../../../components/Section.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { Grants } from './Grants.tsx';

/** Everything that the agent can do now, and through what. */
export function AccessTab({ agent }: { readonly agent: Agent }) {
  const params = { agentId: agent.agentId };
  const access = useApi('getAgentAccess', { params });
  return (
    <Stack gap="md">
      <Grants agent={agent} />
      <Section
        title="Scopes of this server's API"
        description="Change them with Edit."
        actions={<CopyAs operation="getAgentAccess" input={{ params }} />}
      >
        <QueryState query={access} label="Loading the access of the agent" rows={2}>
          {({ active, own, role, inactiveReason }) => (
            <Stack gap="xs">
              <ScopeList
                scopes={active ? own : agent.allowedScopes}
                none="None. The agent cannot call this server's API for itself."
              />
              {role && (
                <Text size="sm">
                  Role in its organization: <Badge tt="none">{roleWord(role)}</Badge>
                </Text>
              )}
              {!active && (
                <Alert color="yellow" icon={<Icon name="warning" />}>
                  None of it counts now: {visibleText(inactiveReason ?? 'the agent is not active')}.
                </Alert>
              )}
            </Stack>
          )}
        </QueryState>
      </Section>
      {access.data?.active && (
        <>
          <Section
            title="Through delegations"
            description="Active delegations to this agent, with the scopes that they give now"
            actions={
              <Button component={PageLink} to="/delegations" search={params} variant="default">
                Delegations
              </Button>
            }
          >
            <TableOrText
              label="Delegated access"
              rows={access.data.delegated}
              columns={delegatedColumns}
              rowId={({ chainId }) => chainId}
              empty="No agent or person has delegated anything to it."
            />
          </Section>
          <Section
            title="Trust policies"
            description="Workloads of other issuers that may become this agent"
            actions={
              <Button component={PageLink} to="/trust" search={params} variant="default">
                Trust policies
              </Button>
            }
          >
            <TableOrText
              label="Trust policies"
              rows={access.data.trustPolicies}
              columns={policyColumns}
              rowId={({ policyId }) => policyId}
              empty="No trust policy lets a workload become this agent."
            />
          </Section>
          {access.data.truncated && (
            <Text size="sm" c="dimmed">
              A list here has more than 100 entries; the newest 100 are shown.
            </Text>
          )}
        </>
      )}
    </Stack>
  );
}

const delegatedColumns: readonly Column<DelegatedAccess>[] = [
  {
    header: 'Acts for',
    cell: ({ subjectType, subjectId }) => <PartyName type={subjectType} id={subjectId} />,
  },
  {
    header: 'Received from',
    cell: ({ delegatorType, delegatorId }) => <PartyName type={delegatorType} id={delegatorId} />,
  },
  { header: 'API', cell: ({ audiences }) => <TenantText text={audiences.join(', ')} /> },
  {
    header: 'Scopes now',
    cell: ({ scopes }) => <ScopeList scopes={scopes} none="none: no token is issued" />,
  },
  timeColumn('Expires', ({ expiresAt }) => expiresAt),
];

const policyColumns: readonly Column<PolicyAccess>[] = [
  { header: 'Policy', cell: ({ name }) => <TenantText text={name} /> },
  { header: 'Issuer', cell: ({ issuer }) => <TenantText text={issuer} /> },
  { header: 'Subject', cell: ({ subject }) => <TenantText text={subject} fallback="any" /> },
  { header: 'Scopes', cell: ({ scopes }) => <ScopeList scopes={scopes} /> },
  {
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
  { header: 'Role', cell: ({ actsAsAdmin }) => roleWord(actsAsAdmin ? 'admin' : 'none') },
];
