import { Anchor, Text } from '@mantine/core';
import type {
  OverviewExpiringCredentials,
  OverviewFailingWebhook,
  OverviewWritingAgents,
} from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import { type Column, DataTable, type DataTableProps, timeColumn } from '../../components/DataTable.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { Section } from '../../components/Section.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './OverviewPage.module.css';

interface OverviewTableProps<Row> extends DataTableProps<Row> {
  readonly title: string;
  readonly description?: string;
  /** How many there are; the server counts to 1,000. */
  readonly total?: number;
  /** Which of them the rows are: "The newest 10 of 25." */
  readonly order?: 'newest' | 'next';
}

/** The first rows of a list, with their number. */
function OverviewTable<Row>(props: OverviewTableProps<Row>) {
  const { title, description, total = 0, order, ...table } = props;
  return (
    <Section title={title} label={table.label} description={description}>
      <div className={classes.scroll}>
        <DataTable {...table} />
      </div>
      {total > table.rows.length && (
        <Text size="xs" c="dimmed" mt={4}>
          The {order} {table.rows.length} of {total >= 1_000 ? '1,000 or more' : total.toLocaleString('en')}.
        </Text>
      )}
    </Section>
  );
}

/** An agent, with a link to one of its tabs. */
const agentColumn = <Row extends { readonly agentId: string; readonly email: string }>(
  tab: string,
): Column<Row> => ({
  header: 'Agent',
  cell: ({ agentId, email }) => (
    <Anchor component={PageLink} to="/agents/$agentId" params={{ agentId }} search={{ tab }} inherit>
      <TenantText text={email} />
    </Anchor>
  ),
});

type Credential = OverviewExpiringCredentials['data'][number];

const idStart = 8;

const credentialColumns: readonly Column<Credential>[] = [
  agentColumn('credentials'),
  {
    header: 'Credential',
    cell: ({ name, credentialId }) =>
      name ? <TenantText text={name} /> : <code title={credentialId}>{credentialId.slice(0, idStart)}</code>,
  },
  timeColumn('Expires', ({ expiresAt }) => expiresAt),
];

export function ExpiringCredentials({ credentials }: { readonly credentials: OverviewExpiringCredentials }) {
  const { data, total } = credentials;
  return (
    <OverviewTable
      title="Credentials that expire within 14 days"
      label="Expiring credentials"
      rows={data}
      columns={credentialColumns}
      rowId={({ credentialId }) => credentialId}
      total={total}
      order="next"
    />
  );
}

type Agent = OverviewWritingAgents['data'][number];

const agentColumns: readonly Column<Agent>[] = [
  agentColumn('access'),
  { header: 'Scopes', cell: ({ scopes }) => <code>{scopes.join(' ')}</code> },
];

export function WritingAgents({ agents }: { readonly agents: OverviewWritingAgents }) {
  const { data, total } = agents;
  return (
    <OverviewTable
      title="Agents that can change things here"
      label="Agents with writing scopes"
      description="They hold writing scopes of the Countersign API. Agents that only call other APIs need none."
      rows={data}
      columns={agentColumns}
      rowId={({ agentId }) => agentId}
      total={total}
      order="newest"
    />
  );
}

/** The server counts no further. */
const maxCount = 1_000;
const countText = (count: number): string => (count >= maxCount ? '1,000+' : String(count));

const webhookColumns: readonly Column<OverviewFailingWebhook>[] = [
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

export function FailingDeliveries({ webhooks }: { readonly webhooks: readonly OverviewFailingWebhook[] }) {
  return (
    <OverviewTable
      title="Webhooks with failing deliveries"
      label="Failing deliveries"
      rows={webhooks}
      columns={webhookColumns}
      rowId={({ id }) => id}
    />
  );
}
