import { Button, Group, Stack } from '@mantine/core';
import type { AuditEvent } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import type { PageSearch } from '../../app/page.ts';
import { personNameOf } from '../../components/ActorName.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { actorIdOf } from './live-filter.ts';
import type { auditPage } from './page.ts';

/** The agent that acted, where it is another than the one that the event is about. */
export const actorOf = (event: AuditEvent): string | undefined => {
  const actorId = actorIdOf(event);
  return actorId === event.agentId ? undefined : actorId;
};

interface EventDetailProps {
  readonly eventId: string;
  /** Absent when it is on another page. */
  readonly event: AuditEvent | undefined;
  readonly onSearch: (changes: Partial<PageSearch<typeof auditPage>>) => void;
}

const minuteMs = 60_000;
const everything = { agentId: undefined, actorId: undefined, action: undefined, outcome: undefined, page: 1 };

/** One event: its fields, the whole of it as JSON, and ways to go on from it. */
export function EventDetail({ eventId, event: listed, onSearch }: EventDetailProps) {
  const query = useApi('getAuditEvent', { params: { eventId } }, { enabled: !listed });
  const event = listed ?? query.data;
  if (!event) return <QueryState query={query} label="Loading the event" rows={4} />;
  const time = Date.parse(event.timestamp);
  const actorId = actorOf(event);
  const person = personNameOf(event);
  const showAround = () =>
    onSearch({
      ...everything,
      from: new Date(time - minuteMs).toISOString(),
      to: new Date(time + minuteMs).toISOString(),
      live: false,
    });
  return (
    <Stack gap="sm">
      <Facts
        facts={{
          Time: exactTime(event.timestamp),
          Outcome: <StatusBadge status={event.outcome} />,
          Agent: <AgentName agentId={event.agentId} />,
          Person: person !== undefined && <TenantText text={person} />,
          By: actorId && <AgentName agentId={actorId} />,
          Address: <TenantText text={event.ipAddress} />,
          'User agent': <TenantText text={event.userAgent} multiline />,
          'Event id': <code>{event.eventId}</code>,
        }}
      />
      <Group gap="xs">
        <Button variant="default" onClick={showAround}>
          Around this event
        </Button>
        <Button
          variant="default"
          onClick={() => onSearch({ ...everything, agentId: event.agentId, from: undefined, to: undefined })}
        >
          Events of this agent
        </Button>
        <CopyAs operation="getAuditEvent" input={{ params: { eventId } }} />
      </Group>
      <JsonView value={event} label="The event as JSON" />
    </Stack>
  );
}
