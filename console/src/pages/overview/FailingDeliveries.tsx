import { Paper, Text, Title } from '@mantine/core';
import type { OverviewFailingWebhook } from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import { type Column, DataTable } from '../../components/DataTable.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './OverviewPage.module.css';

/** The server counts no further. */
const maxCount = 1_000;
const countText = (count: number): string => (count >= maxCount ? '1,000+' : String(count));

const columns: readonly Column<OverviewFailingWebhook>[] = [
  {
    id: 'webhook',
    header: 'Webhook',
    cell: ({ id, name, url }) => (
      <div className={classes.cell}>
        <PageLink to="/webhooks/$webhookId" params={{ webhookId: id }} className={classes.link}>
          <TenantText text={name} />
        </PageLink>
        <Text size="xs" c="dimmed" component="div">
          <TenantText text={url} />
        </Text>
      </div>
    ),
  },
  {
    id: 'deliveries',
    header: 'Deliveries',
    cell: ({ failed, deadLetter }) => (
      <div>
        {failed > 0 && <div>{countText(failed)} failed</div>}
        {deadLetter > 0 && (
          <Text size="xs" c="dimmed" component="div">
            {countText(deadLetter)} dead {deadLetter === 1 ? 'letter' : 'letters'}
          </Text>
        )}
      </div>
    ),
    width: '8rem',
  },
  {
    id: 'error',
    header: 'Last error',
    cell: ({ lastError, lastFailedAt }) => (
      <div className={classes.cell}>
        <TenantText text={lastError} multiline />
        <Text size="xs" c="dimmed" component="div">
          <RelativeTime time={lastFailedAt} />
        </Text>
      </div>
    ),
  },
];

/** Null: the session lacks the scope. */
export function FailingDeliveries({
  webhooks,
}: {
  readonly webhooks: readonly OverviewFailingWebhook[] | null;
}) {
  return (
    <Paper component="section" aria-label="Failing deliveries">
      <Title order={2} mb="xs">
        Webhooks with failing deliveries
      </Title>
      {webhooks === null ? (
        <Text size="sm" c="dimmed">
          This needs the scope <code>webhooks:read</code>.
        </Text>
      ) : webhooks.length === 0 ? (
        <Text size="sm" c="dimmed">
          None.
        </Text>
      ) : (
        <div className={classes.scroll}>
          <DataTable label="Failing deliveries" rows={webhooks} columns={columns} rowId={({ id }) => id} />
        </div>
      )}
    </Paper>
  );
}
