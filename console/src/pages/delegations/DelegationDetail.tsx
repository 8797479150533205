import { Anchor, Group, Stack, Text, Timeline } from '@mantine/core';
import { useState } from 'react';
import type { DelegationWithLinks } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { operatorScope } from '../../app/page.ts';
import { useSession } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { Icon } from '../../components/Icon.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { PartyName } from '../../components/PartyName.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { RevokeDelegation } from '../../components/RevokeDelegation.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';
import classes from './DelegationDetail.module.css';
import { useGraphRefresh } from './use-graph.ts';

type Link = DelegationWithLinks['chain'][number];

const originWords: Readonly<Record<Link['origin'], string>> = {
  api: 'a request of the delegator',
  consent: 'consent of the person',
  approval: 'approval of the person',
  assertion: "an assertion of the person's provider",
  console: 'the person, in this console',
};

interface DelegationDetailProps {
  readonly chainId: string;
  readonly onSelect: (chainId: string) => void;
}

/** A delegation with its whole chain, and what was passed on from it. */
export function DelegationDetail({ chainId, onSelect }: DelegationDetailProps) {
  const session = useSession();
  const [revoking, setRevoking] = useState(false);
  const refreshGraph = useGraphRefresh();
  const { data, error, isPending, refetch } = useApi('getDelegation', { params: { chainId } });
  if (isPending) return <LoadingState label="Loading the delegation" />;
  if (!data)
    return (
      <ErrorState error={error} title="This delegation could not be loaded" onRetry={() => void refetch()} />
    );
  const isActive = data.status === 'active';
  const mayRevoke =
    session.role === 'admin' ||
    session.scopes.includes(operatorScope) ||
    (session.role !== 'viewer' && data.chain.some(({ delegatorId }) => delegatorId === session.agentId));
  return (
    <Stack gap="sm">
      <Facts
        facts={{
          Status: <StatusBadge status={data.status} />,
          'On behalf of': <PartyName type={data.subjectType} id={data.subjectId} />,
          'Began by': originWords[data.origin],
          'Effective now':
            data.effectiveScopes.length > 0 ? (
              <Scopes scopes={data.effectiveScopes} shown={20} />
            ) : (
              `Nothing can be redeemed${isActive ? ': the subject no longer holds these scopes' : ''}.`
            ),
          API: <TenantText text={data.resource?.join(', ') ?? 'Countersign API'} multiline />,
          Purpose: <TenantText text={data.purpose} multiline />,
          'Passing on': data.allowRedelegation ? 'allowed' : 'not allowed',
          Created: <time dateTime={data.createdAt}>{exactTime(data.createdAt)}</time>,
          [data.status === 'revoked' ? 'Revoked' : isActive ? 'Expires' : 'Expired']: (
            <RelativeTime time={data.revokedAt ?? data.expiresAt} />
          ),
          'Chain id': <code>{data.chainId}</code>,
        }}
      />
      <Group gap="xs">
        {mayRevoke && isActive && (
          <IconButton variant="default" icon="close" onClick={() => setRevoking(true)}>
            Revoke
          </IconButton>
        )}
        <CopyAs operation="getDelegation" input={{ params: { chainId } }} />
      </Group>
      <section aria-label="Chain">
        <Text component="h3" fw={600} mb="xs">
          Chain
        </Text>
        <Timeline bulletSize={20} lineWidth={2} active={data.chain.length} color="seal">
          {data.chain.map((link) => (
            <Timeline.Item key={link.chainId} bullet={<span className={classes.depth}>{link.depth}</span>}>
              <ChainLink link={link} isShown={link.chainId === chainId} onSelect={onSelect} />
            </Timeline.Item>
          ))}
        </Timeline>
      </section>
      <PassedOn chainId={chainId} onSelect={onSelect} />
      <RevokeDelegation
        chainId={chainId}
        link={data}
        opened={revoking}
        onClose={() => setRevoking(false)}
        onDone={refreshGraph}
      />
    </Stack>
  );
}

interface ChainLinkProps {
  readonly link: Link;
  readonly isShown: boolean;
  readonly onSelect: (chainId: string) => void;
}

function ChainLink({ link, isShown, onSelect }: ChainLinkProps) {
  return (
    <div className={classes.link} aria-current={isShown || undefined}>
      <div className={classes.agents}>
        <PartyName type={link.delegatorType} id={link.delegatorId} />
        <Icon name="forward" size={12} />
        <AgentName agentId={link.delegateeId} />
      </div>
      <Scopes scopes={link.scopes} shown={20} />
      <Group gap="xs">
        <StatusBadge status={link.status} />
        <Text size="xs" c="dimmed">
          {link.status === 'revoked' ? 'ended' : 'ends'}{' '}
          <RelativeTime time={link.revokedAt ?? link.expiresAt} />
        </Text>
        {!isShown && (
          <Anchor component="button" type="button" size="xs" onClick={() => onSelect(link.chainId)}>
            Show this link
          </Anchor>
        )}
      </Group>
    </div>
  );
}

const shownDescendants = 20;

/** The active links below: those that end with it. */
function PassedOn({ chainId, onSelect }: DelegationDetailProps) {
  const { data } = useApi('listDelegationDescendants', {
    params: { chainId },
    query: { limit: shownDescendants },
  });
  if (!data || data.total === 0) return null;
  return (
    <section aria-label="Passed on">
      <Text component="h3" fw={600} mb="xs">
        Passed on: {data.total.toLocaleString('en')} active {data.total === 1 ? 'delegation' : 'delegations'}
      </Text>
      <ul className={classes.below}>
        {data.data.map(({ chainId: id, delegatorId, delegateeId }) => (
          <li key={id}>
            <AgentName agentId={delegatorId} link={false} />
            <Icon name="forward" size={12} />
            <AgentName agentId={delegateeId} link={false} />
            <Anchor component="button" type="button" size="xs" onClick={() => onSelect(id)}>
              Show
            </Anchor>
          </li>
        ))}
        {data.total > data.data.length && <li>and {data.total - data.data.length} more</li>}
      </ul>
    </section>
  );
}

/** Scopes as words, the first few of them. */
export function Scopes({ scopes, shown }: { readonly scopes: readonly string[]; readonly shown: number }) {
  const rest = scopes.length - shown;
  if (scopes.length === 0) return <>none</>;
  return (
    <span className={classes.scopes} title={visibleText(scopes.join(' ').slice(0, 1_000))}>
      {scopes.slice(0, shown).map((scope) => (
        <code key={scope} className={classes.scope}>
          {visibleText(scope)}
        </code>
      ))}
      {rest > 0 && <span>+{rest} more</span>}
    </span>
  );
}
