/** The facts that an administrator asks for first: status, last token, reach, owner, next expiry. */
import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Agent, AgentAccess, ListedAgent } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink } from '../../../app/navigation.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { counted } from '../../../components/counted.ts';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Facts } from '../../../components/Facts.tsx';
import { RelativeTime } from '../../../components/RelativeTime.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
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
  const failed = [access, listed].filter(({ isError, data }) => isError && !data);
  return (
    <>
      <Facts
        className={classes.summary}
        facts={{
          Status: <Status agent={agent} access={access.data} />,
          'Last token': <LastToken agentId={agentId} activity={activity} isFailed={listed.isError} />,
          'Can reach': access.data ? <Reach access={access.data} /> : <Missing isFailed={access.isError} />,
          'Belongs to': <Owner agent={agent} />,
          'Expires next':
            access.data && activity ? (
              <NextEnd agent={agent} access={access.data} activity={activity} />
            ) : (
              <Missing isFailed={failed.length > 0} />
            ),
        }}
      />
      {failed[0] && (
        <ErrorState
          error={failed[0].error}
          title="A part of the summary could not be read"
          onRetry={() => {
            for (const query of failed) void query.refetch();
          }}
        />
      )}
    </>
  );
}

const Missing = ({ isFailed }: { readonly isFailed: boolean }) => (isFailed ? 'could not be read' : '…');

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
  isFailed,
}: {
  readonly agentId: string;
  readonly activity: ListedAgent | undefined;
  readonly isFailed: boolean;
}) {
  const mayReadAudit = useCan()('audit:read');
  const query = { agentId, action: 'token.issued', limit: 1 };
  const events = useApi('listAuditEvents', { query }, { enabled: mayReadAudit });
  const time = events.data?.data[0]?.timestamp;
  const date = activity?.lastTokenDate;
  if (mayReadAudit && events.isPending) return <Missing isFailed={false} />;
  if (!time && !activity) return <Missing isFailed={isFailed} />;
  return (
    <TabLink agentId={agentId} tab="activity">
      {time ? <RelativeTime time={time} /> : date ? dayText(date, Date.now()) : 'none yet'}
    </TabLink>
  );
}

const maxApis = 2;

function Reach({ access }: { readonly access: AgentAccess }) {
  const { agentId, grants, own, delegated, trustPolicies, role } = access;
  const others = grants.length - maxApis;
  const rest = [
    others > 0 && counted(others, 'more APIs'),
    own.length > 0 && counted(own.length, 'scopes of the Countersign API'),
    delegated.length > 0 && counted(delegated.length, 'delegations'),
    trustPolicies.length > 0 && counted(trustPolicies.length, 'trust policies'),
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
  return (
    <>
      <TenantText text={agent.owner} />
      <AgentLabels labels={agent.labels} />
      <OtherOrganization agent={agent} />
    </>
  );
}

function NextEnd(props: {
  readonly agent: Agent;
  readonly access: AgentAccess;
  readonly activity: ListedAgent;
}) {
  const { agent, access, activity } = props;
  const delegation = access.delegated.map(({ expiresAt }) => expiresAt).toSorted()[0];
  const secret = activity.secretExpiresAt ?? null;
  return (
    <>
      <TabLink agentId={agent.agentId} tab="credentials">
        {secret === null ? 'no secret expires' : 'a secret'}
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
