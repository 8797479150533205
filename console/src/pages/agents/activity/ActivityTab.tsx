import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type Agent, type AuditEvent, eventTypes } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { useEvents } from '../../../app/event-context.tsx';
import { PageLink, usePageSearch } from '../../../app/navigation.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { ActorName } from '../../../components/ActorName.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { timeColumn } from '../../../components/DataTable.tsx';
import type { Filter } from '../../../components/FilterBar.tsx';
import { JsonView } from '../../../components/JsonView.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { NoPermission } from '../../../components/NoPermission.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { agentPage } from '../page.ts';
import { summaryOf } from './summary.ts';

const limit = 50;
/** Events that arrived since the list was loaded; the next page of the server has them too. */
const maxLive = 200;

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'action', label: 'Action', options: eventTypes },
  { kind: 'choice', name: 'outcome', label: 'Outcome', options: ['success', 'failure'] },
  { kind: 'time' },
];

const columns: readonly Column<AuditEvent>[] = [
  timeColumn('Time', ({ timestamp }) => timestamp),
  { header: 'Action', width: '12rem', cell: ({ action }) => <code>{action}</code> },
  { header: 'Outcome', width: '6.5rem', cell: ({ outcome }) => <StatusBadge status={outcome} /> },
  {
    header: 'By',
    cell: (event) => <ActorName event={event} agentId={String(event.metadata.actorId ?? event.agentId)} />,
  },
  { header: 'Details', cell: (event) => <TenantText text={summaryOf(event)} /> },
];

export function ActivityTab({ agent }: { readonly agent: Agent }) {
  return useCan()('audit:read') ? (
    <ActivityList agentId={agent.agentId} />
  ) : (
    <NoPermission scope="audit:read" />
  );
}

function ActivityList({ agentId }: { readonly agentId: string }) {
  const [{ action, outcome, from, to, page, selected }, setSearch] = usePageSearch(agentPage);
  const input = { query: { agentId, action, outcome, fromDate: from, toDate: to, page, limit } };
  const events = useApi('listAuditEvents', input, { keepPrevious: true });
  const [live, setLive] = useState<readonly AuditEvent[]>([]);
  useEvents('', (event) => {
    if (event.agentId === agentId) setLive((all) => [event, ...all].slice(0, maxLive));
  });

  const known = new Set(events.data?.data.map(({ eventId }) => eventId));
  const isWanted = (event: AuditEvent) =>
    !known.has(event.eventId) &&
    (action === undefined || event.action === action) &&
    (outcome === undefined || event.outcome === outcome) &&
    Date.parse(event.timestamp) > Date.parse(events.data?.data[0]?.timestamp ?? '1970-01-01');
  const newer = page === 1 && to === undefined ? live.filter(isWanted) : [];
  const data = events.data && {
    ...events.data,
    data: [...newer, ...events.data.data],
    total: events.data.total + newer.length,
  };
  return (
    <ListPage
      withTitle={false}
      actions={
        <>
          <CopyAs operation="listAuditEvents" input={input} />
          <Button component={PageLink} to="/audit" search={{ agentId }} variant="default">
            Show on the audit page
          </Button>
        </>
      }
      title="Activity"
      noun="events"
      query={{ ...events, data }}
      columns={columns}
      rowId={({ eventId }) => eventId}
      search={{ action, outcome, from, to, selected }}
      onSearch={setSearch}
      filters={filters}
      detail={{
        title: (id, event) => event?.action ?? `Event ${id.slice(0, 8)}`,
        render: (id, event) => <EventDetail id={id} event={event} />,
      }}
      empty={{
        icon: 'audit',
        title: 'Nothing recorded in the last 90 days',
        text: 'Tokens, refusals and changes of this agent appear here as they happen.',
      }}
    />
  );
}

function EventDetail({ id, event }: { readonly id: string; readonly event: AuditEvent | undefined }) {
  return (
    <Stack gap="sm">
      {event ? (
        <JsonView value={event} label="Audit event" />
      ) : (
        <Text size="sm">This event is not on this page of the list.</Text>
      )}
      <Group gap="xs">
        <Button component={PageLink} to="/audit" search={{ selected: id }} variant="default">
          Open on the audit page
        </Button>
        <CopyAs operation="getAuditEvent" input={{ params: { eventId: id } }} />
      </Group>
    </Stack>
  );
}
