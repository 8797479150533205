import { Stack } from '@mantine/core';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { ApprovalOutcomes } from './ApprovalOutcomes.tsx';
import { ControlDetail, ControlStatus } from './ControlDetail.tsx';
import { CopyEvidence, ExportMenu } from './ExportMenu.tsx';
import type { Control } from './evidence.ts';
import { compliancePage, controlStatuses } from './page.ts';
import { Report } from './Report.tsx';

const columns: readonly Column<Control>[] = [
  { header: 'Control', cell: ({ id }) => <code>{id}</code>, width: '8rem' },
  { header: 'Statement', cell: ({ name }) => name },
  { header: 'Result', cell: (control) => <ControlStatus control={control} />, width: '8rem' },
  timeColumn('Checked', ({ lastChecked }) => lastChecked),
];

export function CompliancePage() {
  const [search, setSearch] = usePageSearch(compliancePage);
  const controls = useApi('getControls', {});
  const { data } = controls;
  const matching = data?.controls.filter(({ status }) => !search.status || status === search.status);
  return (
    <>
      <PageTitle
        title="Compliance"
        description="The report of your organization, and the SOC 2 controls of this instance. The server checks each control itself, at most once a minute."
        actions={
          <>
            <CopyEvidence />
            <ExportMenu />
          </>
        }
      />
      <Stack gap="md">
        <Report />
        <ApprovalOutcomes />
        <div>
          <ListPage
            title="Controls"
            withTitle={false}
            noun="controls"
            // The list comes whole; `refetch` has the type of the answer.
            query={{ ...controls, data: matching && { data: matching }, refetch: controls.refetch as never }}
            columns={columns}
            rowId={({ id }) => id}
            search={search}
            onSearch={setSearch}
            filters={[{ kind: 'choice', name: 'status', label: 'Result', options: controlStatuses }]}
            empty={{ title: 'No controls', icon: 'compliance' }}
            detail={{
              title: (id, control) => control?.name ?? id,
              render: (id, control) => <ControlDetail id={id} control={control} />,
            }}
          />
        </div>
      </Stack>
    </>
  );
}
