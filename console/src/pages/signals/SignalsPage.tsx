import { Stack, Text } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import type { SignalStream } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { useCan } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { Facts } from '../../components/Facts.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { ScopeList } from '../../components/ScopeList.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { signalsPage } from './page.ts';

const isPush = ({ delivery }: SignalStream): boolean => delivery.method === 'urn:ietf:rfc:8935';

const columns: readonly Column<SignalStream>[] = [
  { header: 'Receiver', cell: ({ aud }) => <AgentName agentId={aud} link={false} /> },
  { header: 'Description', cell: ({ description }) => <TenantText text={description ?? ''} /> },
  {
    header: 'Delivery',
    cell: (row) =>
      isPush(row) ? (
        <>
          push to <TenantText text={row.delivery.endpoint_url} />
        </>
      ) : (
        'poll'
      ),
  },
  { header: 'Stream id', width: '21rem', cell: ({ stream_id }) => <code>{stream_id}</code> },
];

/** The streams by which APIs learn that tokens have ended. Verifiers make and delete them, so the page only shows them. */
export function SignalsPage(): ReactNode {
  const [search, setSearch] = usePageSearch(signalsPage);
  const seesAll = useCan()('webhooks:write');
  const query = useApi('getSignalStream', {});
  // The list comes whole: at most 50 streams.
  const list = useMemo(
    () => ({ ...query, data: query.data && { data: [query.data].flat() as SignalStream[] } }),
    [query],
  );
  return (
    <ListPage
      title="Signals"
      description={
        seesAll
          ? 'By these streams APIs learn within a second which tokens, agents, credentials and delegations have ended.'
          : 'The signal streams of your own agent. With webhooks:write you see those of the organization.'
      }
      noun="signal streams"
      query={list}
      columns={columns}
      rowId={({ stream_id }) => stream_id}
      search={search}
      onSearch={setSearch}
      empty={{
        icon: 'signals',
        title: 'No signal streams yet',
        text: "An API with revocation: 'signals' in its verifier opens a stream when it starts.",
      }}
      actions={<CopyAs operation="getSignalStream" input={{}} />}
      detail={{
        title: () => 'Signal stream',
        render: (_, row) => (row ? <StreamDetail stream={row} /> : 'This stream does not exist.'),
      }}
    />
  );
}

function StreamDetail({ stream }: { readonly stream: SignalStream }) {
  const { stream_id, aud, delivery, description, events_delivered, inactivity_timeout } = stream;
  const input = { query: { stream_id } };
  const status = useApi('getSignalStreamStatus', input);
  return (
    <Stack gap="sm">
      <QueryState
        query={status}
        label="Loading the status"
        errorTitle="The status of this stream could not be loaded"
      >
        {({ status: state, reason }) => (
          <Facts
            facts={{
              Status: <StatusBadge status={state} />,
              ...(reason !== undefined && { Reason: <TenantText text={reason} multiline /> }),
              Receiver: <AgentName agentId={aud} />,
              ...(description !== undefined && { Description: <TenantText text={description} multiline /> }),
              Delivery: isPush(stream) ? 'push (RFC 8935)' : 'poll (RFC 8936)',
              Address: <TenantText text={delivery.endpoint_url} multiline />,
              Events: (
                <ScopeList scopes={events_delivered.map((event) => event.split('/').at(-1) ?? event)} />
              ),
              ...(inactivity_timeout !== undefined && {
                'Deleted without a poll for': `${inactivity_timeout.toLocaleString('en')} seconds`,
              }),
              'Stream id': <code>{stream_id}</code>,
            }}
          />
        )}
      </QueryState>
      <Text size="sm" c="dimmed">
        A paused stream goes on collecting. A disabled one drops its signals.
      </Text>
      <CopyAs operation="getSignalStreamStatus" input={input} />
    </Stack>
  );
}
