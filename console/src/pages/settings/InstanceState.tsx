import { Anchor, Stack, Text } from '@mantine/core';
import type { Instance } from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import { type Column, DataTable, timeColumn } from '../../components/DataTable.tsx';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { Section } from '../../components/Section.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';

type SigningKey = Instance['signingKeys'][number];

/** What runs here: versions, signing keys, and the audit log's signatures. */
export const InstanceState = ({ instance }: { readonly instance: Instance }) => (
  <Stack gap="md">
    <Versions instance={instance} />
    <Keys keys={instance.signingKeys} />
    <AuditState audit={instance.audit} />
  </Stack>
);

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
          Typeface: (
            <>
              Atkinson Hyperlegible,{' '}
              <Anchor href="/console/fonts/OFL.txt" inherit>
                SIL Open Font License
              </Anchor>
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
