import { Anchor, Stack, Switch, Text, Title } from '@mantine/core';
import type { Instance } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { PageLink, usePageSearch } from '../../app/navigation.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { type Column, DataTable, timeColumn } from '../../components/DataTable.tsx';
import { Facts } from '../../components/Facts.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { exactTime, RelativeTime } from '../../components/RelativeTime.tsx';
import { Section } from '../../components/Section.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { settingsPage } from './page.ts';

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
        actions={<CopyAs operation="getInstance" input={{}} />}
      />
      <QueryState query={query} label="Loading settings" rows={10}>
        {(instance) => (
          <Stack gap="md">
            <Versions instance={instance} />
            <Keys keys={instance.signingKeys} />
            <AuditState audit={instance.audit} />
            <Configuration settings={instance.configuration} />
          </Stack>
        )}
      </QueryState>
    </>
  );
}

function Versions({ instance: { version, node, startedAt } }: { readonly instance: Instance }) {
  return (
    <Section title="Versions">
      <Facts
        facts={{
          Countersign: version,
          'Node.js': node,
          Started: (
            <>
              <RelativeTime time={startedAt} /> ({exactTime(startedAt)})
            </>
          ),
        }}
      />
    </Section>
  );
}

const keyColumns: readonly Column<SigningKey>[] = [
  { header: 'Key id', cell: ({ keyId }) => <code>{keyId}</code> },
  { header: 'Algorithm', width: '8rem', cell: ({ algorithm }) => algorithm ?? '–' },
  { header: 'Status', width: '8rem', cell: ({ status }) => <KeyStatus status={status} /> },
  timeColumn('Signs the log since', ({ signsSince }) => signsSince, { width: '12rem', fallback: 'not yet' }),
];

/** A retired key is in order: it is no failure. */
const KeyStatus = ({ status }: Pick<SigningKey, 'status'>) => (
  <StatusBadge status={status === 'active' ? 'active' : 'inactive'} label={status} />
);

function Keys({ keys }: { readonly keys: readonly SigningKey[] }) {
  return (
    <Section
      title="Signing keys"
      description="The active key signs tokens and the audit log. Published keys are in /.well-known/jwks.json. A retired key is no longer published; the audit log still knows it."
    >
      <DataTable label="Signing keys" rows={keys} columns={keyColumns} rowId={({ keyId }) => keyId} />
    </Section>
  );
}

function AuditState({ audit: { linking, treeHead } }: { readonly audit: Instance['audit'] }) {
  return (
    <Section title="Audit log">
      <Facts
        facts={{
          'New events':
            linking === 'ok' ? (
              <StatusBadge status="active" label="linked within seconds" />
            ) : (
              <StatusBadge status="failing" label="linking is delayed" />
            ),
          'Newest signature': treeHead ? (
            <>
              <RelativeTime time={treeHead.time} />, number {treeHead.number.toLocaleString('en')}
            </>
          ) : (
            'none yet'
          ),
          'It covers':
            treeHead &&
            `${treeHead.size.toLocaleString('en')} ${treeHead.size === 1 ? 'organization' : 'organizations'} with new events`,
          'Signed by': treeHead && <code>{treeHead.keyId}</code>,
        }}
      />
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
  { header: 'Variable', width: '17rem', cell: ({ name }) => <code>{name}</code> },
  { header: 'Value', width: '15rem', cell: (setting) => <Value {...setting} /> },
  { header: 'Meaning', cell: ({ description }) => <Meaning text={description} /> },
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
      description="Secrets are not sent to the browser: the page only shows whether they are set."
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
