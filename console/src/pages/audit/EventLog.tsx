import { Button, Group, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { toApiError } from '../../api/api-error.ts';
import { type AuditEvent, eventTypes } from '../../api/generated.ts';
import { call } from '../../api/request.ts';
import { useEvents, useStreamStatus } from '../../app/event-context.tsx';
import { PageLink, usePageSearch } from '../../app/navigation.tsx';
import type { PageSearch } from '../../app/page.ts';
import { useSession } from '../../app/session-context.tsx';
import { ActorName } from '../../components/ActorName.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import type { Filter } from '../../components/FilterBar.tsx';
import { Icon } from '../../components/Icon.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { operatorFilters } from './CheckpointList.tsx';
import { actorOf, EventDetail } from './EventDetail.tsx';
import { matches } from './live-filter.ts';
import { auditPage } from './page.ts';
import { rememberShown } from './shown-events.ts';

type Search = PageSearch<typeof auditPage>;

const limit = 50;
const maxTail = 500;

const columns: readonly Column<AuditEvent>[] = [
  timeColumn('Time', ({ timestamp }) => timestamp),
  {
    header: 'Action',
    cell: ({ action }) => (
      <code>
        <TenantText text={action} />
      </code>
    ),
  },
  { header: 'Outcome', width: '6rem', cell: ({ outcome }) => <StatusBadge status={outcome} /> },
  { header: 'Agent', cell: ({ agentId }) => <AgentName agentId={agentId} /> },
  { header: 'By', cell: (event) => <ActorName event={event} agentId={actorOf(event)} /> },
  { header: 'Address', width: '9rem', cell: ({ ipAddress }) => <TenantText text={ipAddress} /> },
];

/** Beside the details there is little room. */
const narrowColumns = columns.slice(0, 4);

/** The families of events, as prefixes: `agent.*`. */
const families = [...new Set(eventTypes.map((type) => `${type.split('.')[0]}.*`))];

const filtersFor = (isOperator: boolean): readonly Filter[] => [
  { kind: 'choice', name: 'action', label: 'Action', options: [...families, ...eventTypes].toSorted() },
  { kind: 'choice', name: 'outcome', label: 'Outcome', options: ['success', 'failure'] },
  { kind: 'text', name: 'reason', label: 'Reason', placeholder: 'Reason of a failure' },
  { kind: 'agent', name: 'agentId', label: 'Agent' },
  { kind: 'agent', name: 'actorId', label: 'Acted by' },
  { kind: 'time' },
  ...(isOperator ? operatorFilters : []),
];

const inputOf = ({ page, agentId, actorId, action, outcome, reason, from, to, organizationId }: Search) => ({
  query: {
    page,
    limit,
    ...(agentId && { agentId }),
    ...(actorId && { actorId }),
    ...(action && { action }),
    ...(outcome && { outcome }),
    ...(reason && { reason }),
    ...(from && { fromDate: from }),
    ...(to && { toDate: to }),
    ...(organizationId && { organizationId }),
  },
});

/** The list stays as it is while events arrive, unless the reader follows them. */
export function EventLog({ isOperator }: { readonly isOperator: boolean }) {
  const [search, change] = usePageSearch(auditPage);
  const input = useMemo(() => inputOf(search), [search]);
  const list = useQuery({
    queryKey: ['audit log', input],
    queryFn: ({ signal }) => call('listAuditEvents', input, { signal }),
    placeholderData: (previous) => previous,
  });
  const live = useLiveTail(search, list.dataUpdatedAt);
  const filters = useMemo(() => filtersFor(isOperator), [isOperator]);

  const listed = list.data;
  const isFollowing = search.live && search.page === 1;
  const known = useMemo(() => new Set(listed?.data.map(({ eventId }) => eventId)), [listed]);
  const news = live.events.filter(({ eventId }) => !known.has(eventId));
  const data =
    listed && isFollowing
      ? { ...listed, data: [...news, ...listed.data], total: listed.total + news.length }
      : listed;
  rememberShown(data?.data ?? []);

  return (
    <ListPage
      title="Audit log"
      withTitle={false}
      noun="events"
      query={{ ...list, data, refetch: list.refetch }}
      columns={search.selected ? narrowColumns : columns}
      rowId={({ eventId }) => eventId}
      search={search}
      onSearch={change}
      filters={filters}
      empty={{
        title: 'No events yet',
        text: 'Events appear here as soon as something happens.',
        icon: 'audit',
      }}
      errorHelp={(error) => <ArchiveLink error={error} />}
      detail={{
        title: (_, row) => (row ? <TenantText text={row.action} /> : 'Event'),
        render: (id, row) => <EventDetail eventId={id} event={row} onSearch={change} />,
      }}
    >
      <Group justify="space-between" mb="xs" gap="xs">
        <Group gap="sm">
          <Switch
            label="Follow new events"
            checked={search.live}
            onChange={(event) => change({ live: event.currentTarget.checked, page: 1 })}
            size="sm"
          />
          <LiveState isOn={search.live} page={search.page} />
          {!isFollowing && news.length > 0 && search.page === 1 && (
            <Button
              variant="light"
              size="compact-xs"
              leftSection={<Icon name="refresh" size={12} />}
              onClick={() => void list.refetch()}
            >
              {news.length === 1 ? '1 new event' : `${news.length} new events`}: show
            </Button>
          )}
        </Group>
        <CopyAs operation="listAuditEvents" input={input} />
      </Group>
    </ListPage>
  );
}

function LiveState({ isOn, page }: { readonly isOn: boolean; readonly page: number }) {
  const status = useStreamStatus();
  if (!isOn) return null;
  const text = page > 1 ? 'Go to page 1 to see new events.' : status === 'live' ? 'Following' : 'Connecting…';
  return (
    <Text size="xs" c="dimmed" role="status">
      {text}
    </Text>
  );
}

/** The events of the stream that the filters select, newest first, since the list was loaded. */
function useLiveTail(search: Search, loadedAt: number) {
  const { organizationId } = useSession();
  const [tail, setTail] = useState<{ readonly since: number; readonly events: readonly AuditEvent[] }>({
    since: 0,
    events: [],
  });
  // The stream has the events of the session's organization only.
  const isOwn = !search.organizationId || search.organizationId.toLowerCase() === organizationId;
  const add = useCallback(
    (event: AuditEvent) => {
      if (!isOwn || !matches(event, search)) return;
      setTail(({ since, events }) => ({
        since: loadedAt,
        events: [event, ...(since === loadedAt ? events : [])].slice(0, maxTail),
      }));
    },
    [search, loadedAt, isOwn],
  );
  useEvents('', add);
  // Events of other filters do not count.
  return { events: tail.since === loadedAt ? tail.events.filter((event) => matches(event, search)) : [] };
}

/** Events that are older than the list goes back are in the archive, if there is one. */
function ArchiveLink({ error }: { readonly error: unknown }) {
  const [{ from, to, organizationId }] = usePageSearch(auditPage);
  const { code, details } = toApiError(error);
  if (code !== 'RETENTION_WINDOW_EXCEEDED' || details.archive === undefined) return null;
  const search = { view: 'archive', from, to, organizationId };
  return (
    <Button component={PageLink} to={auditPage.path} search={definedOnly(search)} variant="default">
      Show these days in the archive
    </Button>
  );
}

const definedOnly = (search: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(search).flatMap(([name, value]) => (value ? [[name, value]] : [])));
