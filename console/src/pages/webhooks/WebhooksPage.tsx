import { Anchor } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import type { WebhookSubscription, WebhookSubscriptionWithSecret } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { PageLink, useGoTo, usePageSearch } from '../../app/navigation.tsx';
import type { SearchOf } from '../../app/search-params.ts';
import { useCan } from '../../app/session-context.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import type { Filter } from '../../components/FilterBar.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { describeEvents } from './event-groups.ts';
import { subscriptionStatuses, webhooksPage } from './page.ts';
import { SigningSecret, SubscriptionDialog } from './SubscriptionDialog.tsx';
import { SubscriptionStatus, shownStatusOf } from './SubscriptionFacts.tsx';

type WebhookFilters = Pick<SearchOf<typeof webhooksPage.search>, 'q' | 'status' | 'from' | 'to'>;

const columns: readonly Column<WebhookSubscription>[] = [
  {
    header: 'Name',
    cell: ({ id, name }) => (
      <Anchor component={PageLink} inherit to="/webhooks/$webhookId" params={{ webhookId: id }}>
        <TenantText text={name} />
      </Anchor>
    ),
  },
  { header: 'URL', cell: ({ url }) => <TenantText text={url} /> },
  { header: 'Events', width: '11rem', cell: ({ events }) => describeEvents(events) },
  { header: 'Status', width: '12rem', cell: (row) => <SubscriptionStatus subscription={row} /> },
  timeColumn('Created', ({ created_at }) => created_at),
];

const filters: readonly Filter[] = [
  { kind: 'text', name: 'q', label: 'Part of name or URL' },
  { kind: 'choice', name: 'status', label: 'Status', options: subscriptionStatuses },
  { kind: 'time' },
];

function isMatch(row: WebhookSubscription, { q = '', status, from, to }: WebhookFilters): boolean {
  const created = Date.parse(row.created_at);
  const part = q.toLowerCase();
  return (
    [row.name, row.url].some((text) => text.toLowerCase().includes(part)) &&
    (status === undefined || shownStatusOf(row) === status) &&
    // A malformed time in the URL is NaN, and limits nothing.
    !(from !== undefined && created < Date.parse(from)) &&
    !(to !== undefined && created > Date.parse(to))
  );
}

export function WebhooksPage(): ReactNode {
  const [search, setSearch] = usePageSearch(webhooksPage);
  const [created, setCreated] = useState<WebhookSubscriptionWithSecret>();
  const goTo = useGoTo();
  const mayWrite = useCan()('webhooks:write');
  const query = useApi('listWebhooks', {});
  // The list comes whole: at most 50 subscriptions.
  const list = useMemo(
    () => ({ ...query, data: query.data && { data: query.data.filter((row) => isMatch(row, search)) } }),
    [query, search],
  );
  const create = mayWrite && (
    <IconButton icon="plus" onClick={() => setSearch({ create: true })}>
      Subscribe to events
    </IconButton>
  );
  return (
    <>
      <ListPage
        title="Webhooks"
        description="A subscription sends the events of your organization to an address of yours, signed and with retries."
        noun="webhooks"
        query={list}
        columns={columns}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        filters={filters}
        empty={{
          icon: 'webhooks',
          title: 'No webhooks yet',
          text: 'Your service can get an HTTPS request for each change: a new agent, a revoked credential, an issued token.',
        }}
        actions={<CopyAs operation="listWebhooks" input={{}} />}
        create={create}
      />
      {mayWrite && (
        <SubscriptionDialog
          opened={search.create}
          onClose={() => setSearch({ create: false })}
          onCreated={setCreated}
        />
      )}
      <SigningSecret
        subscription={created}
        onClose={() => {
          if (created) goTo({ to: '/webhooks/$webhookId', params: { webhookId: created.id } });
          setCreated(undefined);
        }}
      />
    </>
  );
}
