import { Tabs } from '@mantine/core';
import { usePageSearch } from '../../app/navigation.tsx';
import { operatorScope } from '../../app/page.ts';
import { useCan, useSession } from '../../app/session-context.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { ArchiveList } from './archive/ArchiveList.tsx';
import { CheckpointList } from './CheckpointList.tsx';
import { EventLog } from './EventLog.tsx';
import { ExportButton } from './export/ExportButton.tsx';
import { ExportPanel } from './export/ExportPanel.tsx';
import { useExport } from './export/use-export.ts';
import { auditPage, views } from './page.ts';
import { VerifyPanel } from './VerifyPanel.tsx';

/** The log of an organization, its checkpoints and its archive, and their verification in this browser. */
export function AuditPage() {
  const [search, change] = usePageSearch(auditPage);
  const session = useSession();
  const isOperator = useCan()(operatorScope);
  const organizationId = search.organizationId?.toLowerCase();
  const exporter = useExport(organizationId);
  return (
    <>
      <PageTitle
        title="Audit log"
        description="Every change, every token and every refusal of the last 90 days. The log is a signed chain, so a later change of it can be found."
        actions={<ExportButton {...exporter} />}
      />
      <ExportPanel {...exporter} />
      <VerifyPanel
        key={organizationId ?? session.organizationId}
        organizationId={organizationId ?? session.organizationId}
        isOwn={organizationId === undefined || organizationId === session.organizationId}
      />
      <Tabs
        value={search.view}
        onChange={(value) =>
          change({ view: views.find((view) => view === value) ?? 'log', page: 1, selected: undefined })
        }
        keepMounted={false}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="log">Events</Tabs.Tab>
          <Tabs.Tab value="checkpoints">Checkpoints</Tabs.Tab>
          <Tabs.Tab value="archive">Archive</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="log">
          <EventLog isOperator={isOperator} />
        </Tabs.Panel>
        <Tabs.Panel value="checkpoints">
          <CheckpointList isOperator={isOperator} />
        </Tabs.Panel>
        <Tabs.Panel value="archive">
          <ArchiveList isOperator={isOperator} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
