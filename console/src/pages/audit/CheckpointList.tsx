import { Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import type { AuditCheckpoint } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import { downloadText } from '../../components/download.ts';
import type { Filter } from '../../components/FilterBar.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { auditPage } from './page.ts';

const limit = 50;
const shownDigits = 16;

const columns: readonly Column<AuditCheckpoint>[] = [
  { header: 'Number', width: '6rem', cell: ({ number }) => number.toLocaleString('en') },
  { header: 'Events', width: '7rem', cell: ({ size }) => size.toLocaleString('en') },
  timeColumn('Time', ({ time }) => time),
  {
    header: 'Hash of the last event',
    cell: ({ headHash }) => <code title={headHash}>{headHash.slice(0, shownDigits)}…</code>,
  },
  { header: 'Key', cell: ({ keyId }) => <code title={keyId}>{keyId.slice(0, shownDigits)}</code> },
  {
    header: 'Signed',
    cell: ({ inclusion }) =>
      inclusion ? `in tree head ${inclusion.treeHead.toLocaleString('en')}` : 'by itself',
  },
];

export const operatorFilters: readonly Filter[] = [
  {
    kind: 'text',
    name: 'organizationId',
    label: 'Organization',
    placeholder: 'Organization id',
    maxLength: 36,
  },
];

/** The signed checkpoints, newest first. */
export function CheckpointList({ isOperator }: { readonly isOperator: boolean }) {
  const [search, change] = usePageSearch(auditPage);
  const { page, organizationId } = search;
  const input = useMemo(
    () => ({ query: { page, limit, ...(organizationId && { organizationId }) } }),
    [page, organizationId],
  );
  const query = useApi('listAuditCheckpoints', input, { keepPrevious: true });
  return (
    <ListPage
      title="Checkpoints"
      withTitle={false}
      noun="checkpoints"
      query={query}
      columns={columns}
      rowId={({ number }) => String(number)}
      search={search}
      onSearch={change}
      filters={isOperator ? operatorFilters : []}
      empty={{
        title: 'No checkpoints yet',
        text: 'A checkpoint is signed within a second of an event.',
        icon: 'audit',
      }}
      detail={{
        title: (id) => `Checkpoint ${id}`,
        render: (id, row) =>
          row ? (
            <CheckpointDetail checkpoint={row} />
          ) : (
            <Text size="sm" c="dimmed">
              Checkpoint {id} is not on this page of the list.
            </Text>
          ),
      }}
    >
      <Group justify="space-between" mb="xs" gap="xs">
        <Text size="xs" c="dimmed" maw="44rem">
          Keep one in another place from time to time: it proves later that the end of the log was not
          removed.
        </Text>
        <CopyAs operation="listAuditCheckpoints" input={input} />
      </Group>
    </ListPage>
  );
}

function CheckpointDetail({ checkpoint }: { readonly checkpoint: AuditCheckpoint }) {
  return (
    <Stack gap="sm">
      <Group>
        <IconButton
          variant="default"
          icon="download"
          onClick={() =>
            downloadText(
              `checkpoint-${checkpoint.number}.json`,
              `${JSON.stringify(checkpoint)}\n`,
              'application/json',
            )
          }
        >
          Download
        </IconButton>
      </Group>
      <Text size="xs" c="dimmed">
        <code>countersign audit verify --checkpoint checkpoint-{checkpoint.number}.json</code> fails unless
        the log still contains it.
      </Text>
      <JsonView value={checkpoint} label="The checkpoint as JSON" />
    </Stack>
  );
}
