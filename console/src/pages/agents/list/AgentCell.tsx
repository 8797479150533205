import { Anchor, Badge, Text } from '@mantine/core';
import type { Agent } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink } from '../../../app/navigation.tsx';
import { useSession } from '../../../app/session-context.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { AgentLabels } from './AgentLabels.tsx';
import { nameOf } from './agent-rows.ts';

/** The name of an agent with its address, its labels and, for operators, the mark of another organization. */
export function AgentCell({ agent }: { readonly agent: Agent }) {
  const { agentId, displayName, email, labels } = agent;
  return (
    <div>
      <Anchor component={PageLink} to="/agents/$agentId" params={{ agentId }} inherit fw={500} maw="100%">
        <TenantText text={nameOf(agent)} />
      </Anchor>
      {displayName !== null && (
        <Text size="xs" c="dimmed" component="div">
          <TenantText text={email} />
        </Text>
      )}
      <AgentLabels labels={labels} most={2} />
      <OtherOrganization agent={agent} />
    </div>
  );
}

const maxOrganizations = 100;

/** Operators see the agents of all organizations: those of others are marked. Their names come with one request. */
export function OtherOrganization({ agent: { organizationId } }: { readonly agent: Agent }) {
  const isOther = organizationId !== useSession().organizationId;
  const organizations = useApi(
    'listOrganizations',
    { query: { limit: maxOrganizations } },
    { enabled: isOther },
  );
  if (!isOther) return null;
  const name = organizations.data?.data.find((one) => one.organizationId === organizationId)?.name;
  return (
    <Badge
      color="grape"
      variant="outline"
      tt="none"
      maw="12rem"
      title={`Other organization ${organizationId}`}
    >
      <bdi>{visibleText(name ?? 'other organization')}</bdi>
    </Badge>
  );
}
