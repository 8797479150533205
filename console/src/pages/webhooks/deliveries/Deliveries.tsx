import { Group, Title } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { WebhookDelivery, WebhookSubscription } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { timeColumn } from '../../../components/DataTable.tsx';
import type { Filter } from '../../../components/FilterBar.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { deliveryStatuses, webhookPage } from '../page.ts';
import { DeliveryCounts } from './DeliveryCounts.tsx';
import { DeliveryDetail } from './DeliveryDetail.tsx';
import { resultOf, statusLabels } from './delivery-words.ts';
import { ReplayDialog } from './ReplayDialog.tsx';
import { ReplayProgress, type StartedReplay } from './ReplayProgress.tsx';
import { ReplaySelected } from './ReplaySelected.tsx';

const pageSize = 20;
/** While something is being sent, and otherwise. Results of attempts are no events, so the page asks for them. */
const busyMilliseconds = 5_000;
const idleMilliseconds = 20_000;

const filters: readonly Filter[] = [
  {
    kind: 'choice',
    name: 'status',
    label: 'Status',
    options: deliveryStatuses.map((value) => ({ value, label: statusLabels[value] })),
  },
  { kind: 'time' },
];

const columns: readonly Column<WebhookDelivery>[] = [
  {
    header: 'Status',
    width: '6.5rem',
    cell: ({ status }) => <StatusBadge status={status} label={statusLabels[status]} />,
  },
  { header: 'Event', width: '11.5rem', cell: ({ event_type }) => <code>{event_type}</code> },
  { header: 'Last response', cell: (row) => <TenantText text={resultOf(row.attempts.at(-1))} /> },
  { header: 'Attempts', width: '5rem', align: 'right', cell: ({ attempt_count }) => attempt_count },
  timeColumn('Next retry', ({ next_retry_at }) => next_retry_at, { width: '7.5rem', fallback: '–' }),
  timeColumn('Created', ({ created_at }) => created_at, { width: '7.5rem' }),
];

/** The deliveries of a subscription: by status and time, with the attempts of the selected one. */
export function Deliveries({ subscription }: { readonly subscription: WebhookSubscription }) {
  const { id, active } = subscription;
  const [search, setSearch] = usePageSearch(webhookPage);
  const [replay, setReplay] = useState<StartedReplay>();
  const [isBusy, setBusy] = useState(false);
  const refetchInterval = isBusy || replay ? busyMilliseconds : idleMilliseconds;
  const mayWrite = useCan()('webhooks:write');
  const range = { since: search.from, until: search.to };
  const counts = useApi(
    'countWebhookDeliveries',
    { params: { id }, query: range },
    { keepPrevious: true, refetchInterval },
  );
  // What waits in a paused subscription stays waiting.
  const sending = active && ((counts.data?.pending ?? 0) > 0 || (counts.data?.open_replays ?? 0) > 0);
  if (sending !== isBusy) setBusy(sending);
  const input = {
    params: { id },
    query: { ...range, status: search.status, limit: pageSize, offset: (search.page - 1) * pageSize },
  };
  const query = useApi('listWebhookDeliveries', input, { keepPrevious: true, refetchInterval });
  const list = useMemo(() => {
    const { deliveries, total, limit = pageSize, offset = 0 } = query.data ?? {};
    return {
      ...query,
      // Dims the rows of another page or filter only, not at every poll.
      isFetching: query.isPlaceholderData,
      data: deliveries && {
        data: deliveries,
        total: total ?? 0,
        limit,
        page: Math.floor(offset / limit) + 1,
      },
    };
  }, [query]);
  return (
    <section aria-labelledby="deliveries">
      <Group justify="space-between" mb="xs">
        <Title order={2} id="deliveries">
          Deliveries
        </Title>
        <CopyAs operation="listWebhookDeliveries" input={input} />
      </Group>
      {replay && <ReplayProgress key={replay.until} replay={replay} onClose={() => setReplay(undefined)} />}
      <ListPage
        title="Deliveries"
        withTitle={false}
        noun="deliveries"
        query={list}
        columns={columns}
        rowId={(row) => row.id}
        search={search}
        onSearch={setSearch}
        filters={filters}
        empty={{
          icon: 'webhooks',
          title: 'No deliveries yet',
          text: 'The next event of this subscription appears here. You can also send a test. Deliveries are kept for 30 days.',
        }}
        selection={
          mayWrite
            ? {
                nameOf: (row) => `${row.event_type} ${row.id}`,
                actions: (selected, clear) => (
                  <ReplaySelected webhookId={id} selected={selected} onDone={clear} />
                ),
              }
            : undefined
        }
        detail={{
          title: (_, row) => (row ? <code>{row.event_type}</code> : 'Delivery'),
          render: (deliveryId, row) => (
            <DeliveryDetail webhookId={id} deliveryId={deliveryId} row={row} mayReplay={mayWrite} />
          ),
        }}
      >
        <DeliveryCounts
          counts={counts.data}
          status={search.status}
          onChange={(status) => setSearch({ status, page: 1, selected: undefined })}
        />
      </ListPage>
      {search.replay && mayWrite && (
        <ReplayDialog
          webhookId={id}
          since={search.from}
          onClose={() => setSearch({ replay: false })}
          onStarted={setReplay}
        />
      )}
    </section>
  );
}
