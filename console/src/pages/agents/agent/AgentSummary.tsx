/** What an administrator asks first: is it active, when was its last token, what can it reach, whose is it, what expires. */
import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Agent, AgentAccess, ListedAgent } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink } from '../../../app/navigation.tsx';
import { useCan, useSession } from '../../../app/session-context.tsx';
import { Facts } from '../../../components/Facts.tsx';
import { RelativeTime } from '../../../components/RelativeTime.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { operatorScope } from '../form/agent-form.ts';
import { OtherOrganization } from '../list/AgentCell.tsx';
import { AgentLabels } from '../list/AgentLabels.tsx';
import { dayText } from '../list/agent-rows.ts';
import { Expiry } from '../list/Expiry.tsx';
import type { AgentTab } from '../page.ts';
import classes from './AgentSummary.module.css';

export function AgentSummary({ agent }: { readonly agent: Agent }) {
  const { agentId } = agent;
  const access = useApi('getAgentAccess', { params: { agentId } });
  const listed = useApi('listAgents', { query: { ids: agentId, include: 'activity', limit: 1 } });
  const activity = listed.data?.data[0];
  return (
    <Facts
      className={classes.summary}
      facts={{
        Status: <Status agent={agent} access={access.data} />,
        'Last token': <LastToken agentId={agentId} activity={activity} />,
        'Can reach': <Reach access={access.data} />,
        'Belongs to': <Owner agent={agent} />,
        'Expires next': <NextEnd agent={agent} access={access.data} activity={activity} />,
      }}
    />
  );
}

const unknown = '…';

function Status({ agent, access }: { readonly agent: Agent; readonly access: AgentAccess | undefined }) {
  const isBlocked = access?.active === false && agent.status === 'active';
  return (
    <>
      <StatusBadge status={agent.status} />
      {isBlocked && <Small>gets no tokens: {visibleText(access.inactiveReason ?? 'it is not active')}</Small>}
    </>
  );
}

/** The audit log has the time, for those who may read it; the usage has the day. */
function LastToken({
  agentId,
  activity,
}: {
  readonly agentId: string;
  readonly activity: ListedAgent | undefined;
}) {
  const mayReadAudit = useCan()('audit:read');
  const query = { agentId, action: 'token.issued', limit: 1 };
  const events = useApi('listAuditEvents', { query }, { enabled: mayReadAudit });
  const time = events.data?.data[0]?.timestamp;
  const date = activity?.lastTokenDate;
  if ((mayReadAudit && events.isPending) || (!time && !activity)) return unknown;
  return (
    <TabLink agentId={agentId} tab="activity">
      {time ? <RelativeTime time={time} /> : date ? dayText(date, Date.now()) : 'none yet'}
    </TabLink>
  );
}

const maxApis = 2;

function Reach({ access }: { readonly access: AgentAccess | undefined }) {
  if (!access) return unknown;
  const { agentId, grants, own, delegated, trustPolicies, role } = access;
  const others = grants.length - maxApis;
  const rest = [
    others > 0 && counted(others, 'more API', 'more APIs'),
    own.length > 0 && counted(own.length, 'scope of this server', 'scopes of this server'),
    delegated.length > 0 && counted(delegated.length, 'delegation', 'delegations'),
    trustPolicies.length > 0 && counted(trustPolicies.length, 'trust policy', 'trust policies'),
    role === 'admin' && 'admin of its organization',
  ].filter(Boolean);
  if (grants.length + rest.length === 0)
    return (
      <TabLink agentId={agentId} tab="access">
        nothing
      </TabLink>
    );
  return (
    <>
      {grants.slice(0, maxApis).map(({ resourceId, identifier }) => (
        <div key={resourceId}>
          <Anchor component={PageLink} to="/apis/$resourceId" params={{ resourceId }} inherit>
            <TenantText text={identifier} />
          </Anchor>
        </div>
      ))}
      {rest.length > 0 && (
        <TabLink agentId={agentId} tab="access">
          {rest.join(', ')}
        </TabLink>
      )}
    </>
  );
}

function Owner({ agent }: { readonly agent: Agent }) {
  const { organizationId: own, scopes } = useSession();
  const isOther = agent.organizationId !== own;
  const organization = useApi(
    'getOrganization',
    { params: { orgId: agent.organizationId } },
    { enabled: isOther && scopes.includes(operatorScope) },
  );
  return (
    <>
      <TenantText text={agent.owner} />
      <AgentLabels labels={agent.labels} />
      {isOther && (
        <Small>
          <TenantText text={organization.data?.name ?? agent.organizationId} />{' '}
          <OtherOrganization agent={agent} />
        </Small>
      )}
    </>
  );
}

function NextEnd(props: {
  readonly agent: Agent;
  readonly access: AgentAccess | undefined;
  readonly activity: ListedAgent | undefined;
}) {
  const { agent, access, activity } = props;
  if (!access || !activity) return unknown;
  const delegation = access.delegated.map(({ expiresAt }) => expiresAt).toSorted()[0];
  const secret = activity.secretExpiresAt ?? null;
  return (
    <>
      <TabLink agentId={agent.agentId} tab="credentials">
        {secret === null ? 'no secret' : 'a secret'}
      </TabLink>{' '}
      {secret !== null && <Expiry time={secret} />}
      {delegation !== undefined && (
        <Small>
          a delegation <RelativeTime time={delegation} />
        </Small>
      )}
    </>
  );
}

const Small = ({ children }: { readonly children: ReactNode }) => (
  <Text size="xs" c="dimmed" component="div">
    {children}
  </Text>
);

interface TabLinkProps {
  readonly agentId: string;
  readonly tab: AgentTab;
  readonly children: ReactNode;
}

const TabLink = ({ agentId, tab, children }: TabLinkProps) => (
  <Anchor component={PageLink} to="/agents/$agentId" params={{ agentId }} search={{ tab }} inherit>
    {children}
  </Anchor>
);

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;
