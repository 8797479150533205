import { Group, Text } from '@mantine/core';
import { useMemo } from 'react';
import type { AuditArchive } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { useSession } from '../../../app/session-context.tsx';
import { byteSize } from '../../../components/byte-size.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { type Column, timeColumn } from '../../../components/DataTable.tsx';
import type { Filter } from '../../../components/FilterBar.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { RowActions } from '../../../components/RowActions.tsx';
import { ShortHash } from '../../../components/ShortHash.tsx';
import { operatorFilters } from '../CheckpointList.tsx';
import { auditPage } from '../page.ts';
import { useFileVerification } from '../use-file-verification.ts';
import { DayDetail } from './DayDetail.tsx';

const limit = 50;
const shownDigits = 12;

const facts: readonly Column<AuditArchive>[] = [
  { header: 'Day', width: '7rem', cell: ({ date }) => date },
  { header: 'Events', width: '7rem', align: 'right', cell: ({ events }) => events.toLocaleString('en') },
  { header: 'Size', width: '6rem', align: 'right', cell: ({ bytes }) => byteSize(bytes) },
];

const more: readonly Column<AuditArchive>[] = [
  timeColumn('Archived', ({ createdAt }) => createdAt),
  {
    header: 'SHA-256',
    cell: ({ sha256, date }) => <ShortHash hash={sha256} digits={shownDigits} label={`SHA-256 of ${date}`} />,
  },
];

/** The list knows days, the other filters of the page times. */
const dayOf = (time: string | undefined): string | undefined =>
  time && !Number.isNaN(Date.parse(time)) ? new Date(time).toISOString().slice(0, 10) : undefined;

/** The days of the archive, newest first. The browser verifies a file while it downloads it. */
export function ArchiveList({ isOperator }: { readonly isOperator: boolean }) {
  const [search, change] = usePageSearch(auditPage);
  const session = useSession();
  const { page, organizationId, from, to, selected } = search;
  const input = useMemo(() => {
    const days = { from: dayOf(from), to: dayOf(to) };
    return { query: { page, limit, ...days, ...(organizationId && { organizationId }) } };
  }, [page, organizationId, from, to]);
  const query = useApi('listAuditArchives', input, { keepPrevious: true });
  const verifier = useFileVerification();
  const owner = organizationId?.toLowerCase() ?? session.organizationId;

  const verify = (day: AuditArchive) => {
    change({ selected: day.date });
    verifier.start(day.date, { kind: 'day', day: { ...day, organizationId: owner } });
  };
  const actions: Column<AuditArchive> = {
    header: 'Actions',
    width: '6rem',
    cell: (day) => <RowActions actions={{ Verify: () => verify(day) }} of={day.date} />,
  };
  const filters: readonly Filter[] = [{ kind: 'time' }, ...(isOperator ? operatorFilters : [])];
  return (
    <ListPage
      title="Archive"
      withTitle={false}
      noun="days"
      query={query}
      columns={selected ? facts : [...facts, ...more, actions]}
      rowId={({ date }) => date}
      search={search}
      onSearch={change}
      filters={filters}
      empty={{
        title: 'No days in the archive',
        text: isOperator ? <ReasonForOperator /> : whereConfigured,
        icon: 'audit',
      }}
      detail={{
        title: (date) => `Archived day ${date}`,
        render: (date, row) =>
          row ? (
            <DayDetail
              day={row}
              organizationId={organizationId}
              verifier={verifier}
              onVerify={() => verify(row)}
            />
          ) : (
            <Text size="sm" c="dimmed">
              {date} is not on this page of the list.
            </Text>
          ),
      }}
    >
      <Group justify="space-between" mb="xs" gap="xs">
        <Text size="xs" c="dimmed" maw="44rem">
          One file for each day that is over, with its proofs. A file outlives the 90 days of the database,
          and proves itself.
        </Text>
        <CopyAs operation="listAuditArchives" input={input} />
      </Group>
    </ListPage>
  );
}

const whenArchived = 'A day appears here after its end, within about a day.';
const whereConfigured = `Events are kept for 90 days. Where the operator has configured an archive, each day is also kept as a file. ${whenArchived}`;

/** The operator can read the settings, and change them. */
function ReasonForOperator() {
  const { data } = useApi('getInstance', {});
  const setting = data?.configuration.find(({ name }) => name === 'AUDIT_ARCHIVE_URL');
  if (setting?.isSet !== false) return `Nothing is archived yet. ${whenArchived}`;
  return (
    <>
      No archive is configured, so events are dropped after 90 days. With <code>AUDIT_ARCHIVE_URL</code>, each
      day is also kept as a file.
    </>
  );
}
