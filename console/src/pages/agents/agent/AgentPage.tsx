import { Alert, Button, List, Tabs } from '@mantine/core';
import type { ComponentType } from 'react';
import { toApiError } from '../../../api/api-error.ts';
import type { Agent } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageTitle } from '../../../app/document-title.ts';
import { PageLink, usePageSearch, usePathParam } from '../../../app/navigation.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { LoadingState } from '../../../components/LoadingState.tsx';
import { PageTitle } from '../../../components/PageTitle.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { AccessTab } from '../access/AccessTab.tsx';
import { ActivityTab } from '../activity/ActivityTab.tsx';
import { CredentialsTab } from '../credentials/CredentialsTab.tsx';
import { DelegationsTab } from '../delegations/DelegationsTab.tsx';
import { IdentityTab } from '../identity/IdentityTab.tsx';
import { nameOf } from '../list/agent-rows.ts';
import { type AgentTab, agentPage, agentTabs } from '../page.ts';
import { AgentActions } from './AgentActions.tsx';
import { AgentSummary } from './AgentSummary.tsx';
import { useTokenRefresh } from './use-token-refresh.ts';

const tabs: Readonly<Record<AgentTab, { label: string; Content: ComponentType<{ readonly agent: Agent }> }>> =
  {
    access: { label: 'Access', Content: AccessTab },
    credentials: { label: 'Credentials', Content: CredentialsTab },
    delegations: { label: 'Delegations', Content: DelegationsTab },
    activity: { label: 'Activity', Content: ActivityTab },
    identity: { label: 'Identity', Content: IdentityTab },
  };

/** The filters of one tab mean nothing on the next. */
const fresh = {
  page: 1,
  selected: undefined,
  credential: undefined,
  role: undefined,
  chain: undefined,
  action: undefined,
  outcome: undefined,
  from: undefined,
  to: undefined,
};

const back = { to: '/agents', label: 'All agents' };

export function AgentPage() {
  const agentId = usePathParam('agentId');
  const agent = useApi('getAgent', { params: { agentId } });
  if (agent.data) return <LoadedAgent key={agentId} agent={agent.data} />;
  if (agent.isPending)
    return (
      <>
        <PageTitle title="Agent" back={back} />
        <LoadingState label="Loading the agent" />
      </>
    );
  const { status } = toApiError(agent.error);
  return (
    <>
      <PageTitle title="Agent" back={back} />
      {status === 404 || status === 400 ? (
        <EmptyState
          icon="agents"
          title="There is no such agent"
          text="Your organization has no agent with this id. Check the address, or look for it in the list."
          action={
            <Button component={PageLink} to="/agents" variant="default">
              Show all agents
            </Button>
          }
        />
      ) : (
        <ErrorState error={agent.error} onRetry={() => void agent.refetch()} />
      )}
    </>
  );
}

function LoadedAgent({ agent }: { readonly agent: Agent }) {
  const [{ tab }, setSearch] = usePageSearch(agentPage);
  usePageTitle(visibleText(nameOf(agent)));
  useTokenRefresh(agent.agentId);
  return (
    <>
      <PageTitle
        back={back}
        title={<TenantText text={nameOf(agent)} multiline />}
        description={
          <>
            {agent.displayName !== null && (
              <>
                <TenantText text={agent.email} multiline /> ·{' '}
              </>
            )}
            {agent.agentType} in {agent.deploymentEnv}
          </>
        }
        actions={<AgentActions agent={agent} />}
      />
      <AgentSummary agent={agent} />
      <StatusNotice status={agent.status} />
      <Tabs
        value={tab}
        onChange={(next) => setSearch({ ...fresh, tab: (next ?? agentTabs[0]) as AgentTab })}
        keepMounted={false}
        mt="sm"
      >
        <Tabs.List aria-label="About this agent">
          {agentTabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {tabs[name].label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {agentTabs.map((name) => {
          const { Content } = tabs[name];
          return (
            <Tabs.Panel key={name} value={name} pt="md">
              <Content agent={agent} />
            </Tabs.Panel>
          );
        })}
      </Tabs>
    </>
  );
}

/** For an agent that is not active: the reason why it gets no tokens, and the actions that are left. */
function StatusNotice({ status }: Pick<Agent, 'status'>) {
  if (status === 'active') return null;
  return status === 'suspended' ? (
    <Alert color="yellow" icon={<Icon name="warning" />} title="This agent is suspended: it gets no tokens">
      Still possible:
      <List size="sm" spacing={2} mt={4}>
        <List.Item>Edit its fields, and grant or remove scopes: they count after a reactivation.</List.Item>
        <List.Item>Revoke credentials. New credentials need an active agent.</List.Item>
        <List.Item>Reactivate it, or decommission it for good.</List.Item>
      </List>
    </Alert>
  ) : (
    <Alert color="gray" icon={<Icon name="lock" />} title="This agent is decommissioned for good">
      It gets no tokens, and nothing about it can change. Its credentials are revoked and its DID is
      deactivated. You can still read its fields and its activity, and remove its grants.
    </Alert>
  );
}
