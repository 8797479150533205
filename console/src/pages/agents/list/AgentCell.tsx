import { Anchor, Badge, Group, Text } from '@mantine/core';
import type { Agent } from '../../../api/generated.ts';
import { PageLink } from '../../../app/navigation.tsx';
import { useSession } from '../../../app/session-context.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { AgentLabels } from './AgentLabels.tsx';
import { nameOf } from './agent-rows.ts';

/** The name of an agent with its address, its labels and, for operators, the mark of another organization. */
export function AgentCell({ agent }: { readonly agent: Agent }) {
  const { agentId, displayName, email, labels } = agent;
  return (
    <div>
      <Group gap={6} wrap="nowrap">
        <Anchor component={PageLink} to="/agents/$agentId" params={{ agentId }} inherit fw={500} miw={0}>
          <TenantText text={nameOf(agent)} />
        </Anchor>
        <OtherOrganization agent={agent} />
      </Group>
      {displayName !== null && (
        <Text size="xs" c="dimmed" component="div">
          <TenantText text={email} />
        </Text>
      )}
      <AgentLabels labels={labels} most={2} />
    </div>
  );
}

/** Operators see the agents of all organizations: those of others are marked. */
export function OtherOrganization({ agent: { organizationId } }: { readonly agent: Agent }) {
  if (organizationId === useSession().organizationId) return null;
  return (
    <Badge
      color="grape"
      variant="outline"
      tt="none"
      miw="max-content"
      title={`Organization ${organizationId}`}
    >
      other organization
    </Badge>
  );
}
