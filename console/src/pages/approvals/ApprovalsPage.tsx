import { Tabs } from '@mantine/core';
import { usePageSearch } from '../../app/navigation.tsx';
import { useCan, useSession } from '../../app/session-context.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { OnlyPeople } from './OnlyPeople.tsx';
import { OrganizationApprovals } from './OrganizationApprovals.tsx';
import { OwnApprovals } from './OwnApprovals.tsx';
import { approvalsPage } from './page.ts';

/** What waits for the person; for those who may read the audit log, also all requests of the organization. */
export function ApprovalsPage() {
  const [search, setSearch] = usePageSearch(approvalsPage);
  const { person } = useSession();
  const mayReadAll = useCan()('audit:read');
  const own = person ? <OwnApprovals /> : <OnlyPeople />;
  return (
    <>
      <PageTitle
        title="Approvals"
        description="Agents that need more than they hold ask a person. Each request says for what, for how long, and why."
      />
      {mayReadAll ? (
        <Tabs
          value={search.tab}
          onChange={(tab) =>
            setSearch({
              tab: tab === 'organization' ? 'organization' : 'own',
              show: 'pending',
              status: undefined,
              agentId: undefined,
              page: 1,
            })
          }
          keepMounted={false}
        >
          <Tabs.List mb="md">
            <Tabs.Tab value="own">For you</Tabs.Tab>
            <Tabs.Tab value="organization">Organization</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="own">{own}</Tabs.Panel>
          <Tabs.Panel value="organization">
            <OrganizationApprovals />
          </Tabs.Panel>
        </Tabs>
      ) : (
        own
      )}
    </>
  );
}
