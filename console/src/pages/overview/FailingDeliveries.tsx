import { Anchor, Text } from '@mantine/core';
import type { OverviewFailingWebhook } from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './OverviewPage.module.css';
import { OverviewTable } from './OverviewTable.tsx';

/** The server counts no further. */
const maxCount = 1_000;
const countText = (count: number): string => (count >= maxCount ? '1,000+' : String(count));

const columns: readonly Column<OverviewFailingWebhook>[] = [
  {
    header: 'Webhook',
    cell: ({ id, name, url }) => (
      <div className={classes.cell}>
        <Anchor component={PageLink} to="/webhooks/$webhookId" params={{ webhookId: id }} inherit>
          <TenantText text={name} />
        </Anchor>
        <Text size="xs" c="dimmed" component="div">
          <TenantText text={url} />
        </Text>
      </div>
    ),
  },
  {
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
    <OverviewTable
      title="Webhooks with failing deliveries"
      label="Failing deliveries"
      rows={webhooks ?? []}
      columns={columns}
      rowId={({ id }) => id}
      empty={
        webhooks === null && (
          <>
            This needs the scope <code>webhooks:read</code>.
          </>
        )
      }
    />
  );
}
