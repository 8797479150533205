import { Anchor, Paper, Stack, Switch, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Instance } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { PageLink, usePageSearch } from '../../app/navigation.tsx';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { type Column, DataTable } from '../../components/DataTable.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { exactTime, RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { settingsPage } from './page.ts';
import classes from './Settings.module.css';

type SigningKey = Instance['signingKeys'][number];
type Setting = Instance['configuration'][number];

/** What runs here: versions, signing keys, the audit log's signatures, and the settings without secrets. */
export function SettingsPage() {
  const query = useApi('getInstance', {});
  return (
    <>
      <PageTitle
        title="Settings"
        description="The state of this instance. Settings are environment variables of the server and cannot be changed here."
        actions={<CopyAsCurl operation="getInstance" input={{}} />}
      />
      {query.data ? (
        <Stack gap="md">
          <Versions instance={query.data} />
          <Keys keys={query.data.signingKeys} />
          <AuditState audit={query.data.audit} />
          <Configuration settings={query.data.configuration} />
        </Stack>
      ) : query.error ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <LoadingState label="Loading settings" rows={10} />
      )}
    </>
  );
}

function Section({ title, text, children }: { title: string; text?: ReactNode; children: ReactNode }) {
  return (
    <Paper component="section" aria-label={title} withBorder p="md">
      <Title order={2} mb={text ? 2 : 'xs'}>
        {title}
      </Title>
      {text && (
        <Text size="sm" c="dimmed" mb="xs" maw="48rem">
          {text}
        </Text>
      )}
      {children}
    </Paper>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Versions({ instance: { version, node, startedAt } }: { readonly instance: Instance }) {
  return (
    <Section title="Versions">
      <dl className={classes.facts}>
        <Fact name="Countersign">{version}</Fact>
        <Fact name="Node.js">{node}</Fact>
        <Fact name="Started">
          <RelativeTime time={startedAt} /> ({exactTime(startedAt)})
        </Fact>
      </dl>
    </Section>
  );
}

const keyColumns: readonly Column<SigningKey>[] = [
  { id: 'id', header: 'Key id', cell: ({ keyId }) => <code>{keyId}</code> },
  { id: 'algorithm', header: 'Algorithm', width: '8rem', cell: ({ algorithm }) => algorithm ?? '–' },
  { id: 'status', header: 'Status', width: '8rem', cell: ({ status }) => <KeyStatus status={status} /> },
  {
    id: 'since',
    header: 'Signs the log since',
    width: '12rem',
    cell: ({ signsSince }) => <RelativeTime time={signsSince} fallback="not yet" />,
  },
];

/** A retired key is in order: it is no failure. */
const KeyStatus = ({ status }: Pick<SigningKey, 'status'>) => (
  <StatusBadge status={status === 'active' ? 'active' : 'inactive'} label={status} />
);

function Keys({ keys }: { readonly keys: readonly SigningKey[] }) {
  return (
    <Section
      title="Signing keys"
      text="The active key signs tokens and the audit log. Published keys are in /.well-known/jwks.json. A retired key is no longer published; the audit log still knows it."
    >
      <DataTable label="Signing keys" rows={keys} columns={keyColumns} rowId={({ keyId }) => keyId} />
    </Section>
  );
}

function AuditState({ audit: { linking, treeHead } }: { readonly audit: Instance['audit'] }) {
  return (
    <Section title="Audit log">
      <dl className={classes.facts}>
        <Fact name="New events">
          {linking === 'ok' ? (
            <StatusBadge status="active" label="linked within seconds" />
          ) : (
            <StatusBadge status="failing" label="linking is delayed" />
          )}
        </Fact>
        {treeHead ? (
          <>
            <Fact name="Newest signature">
              <RelativeTime time={treeHead.time} />, number {treeHead.number.toLocaleString('en')}
            </Fact>
            <Fact name="It covers">
              {treeHead.size === 1 ? '1 organization' : `${treeHead.size.toLocaleString('en')} organizations`}{' '}
              with new events
            </Fact>
            <Fact name="Signed by">
              <code>{treeHead.keyId}</code>
            </Fact>
          </>
        ) : (
          <Fact name="Newest signature">none yet</Fact>
        )}
      </dl>
      <Text size="sm" mt="xs">
        <Anchor component={PageLink} to="/audit" inherit>
          Verify the log in your browser
        </Anchor>
        {', or see its '}
        <Anchor component={PageLink} to="/audit" search={{ view: 'checkpoints' }} inherit>
          checkpoints
        </Anchor>
        .
      </Text>
    </Section>
  );
}

const settingColumns: readonly Column<Setting>[] = [
  { id: 'name', header: 'Variable', width: '17rem', cell: ({ name }) => <code>{name}</code> },
  { id: 'value', header: 'Value', width: '15rem', cell: (setting) => <Value {...setting} /> },
  { id: 'meaning', header: 'Meaning', cell: ({ description }) => <Meaning text={description} /> },
];

/** Text in backticks is code. */
function Meaning({ text }: { readonly text: string }) {
  return (
    <Text size="xs" c="dimmed" component="span">
      {text.split('`').map((part, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a fixed text
        index % 2 === 1 ? <code key={index}>{part}</code> : part,
      )}
    </Text>
  );
}

const Value = ({ value, hidden }: Setting) =>
  hidden ? (
    <Text size="sm" c="dimmed" span>
      set, hidden
    </Text>
  ) : value === null ? (
    <Text size="sm" c="dimmed" span>
      not set
    </Text>
  ) : (
    <code>{value}</code>
  );

function Configuration({ settings }: { readonly settings: readonly Setting[] }) {
  const [{ all }, change] = usePageSearch(settingsPage);
  const shown = settings.filter(({ isSet }) => all || isSet);
  const groups = [...Map.groupBy(shown, ({ group }) => group)];
  return (
    <Section
      title="Configuration"
      text="Secrets are not sent to the browser: the page only shows whether they are set."
    >
      <Switch
        label="Show variables that are not set"
        checked={all}
        onChange={(event) => change({ all: event.currentTarget.checked })}
        size="xs"
        mb="sm"
      />
      <Stack gap="md">
        {groups.map(([group, rows]) => (
          <div key={group}>
            <Title order={3} mb={4}>
              {group}
            </Title>
            <DataTable label={group} rows={rows} columns={settingColumns} rowId={({ name }) => name} />
          </div>
        ))}
      </Stack>
    </Section>
  );
}
