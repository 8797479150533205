/** For the operator: all organizations of the instance. */

import { Button, Group, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Organization } from '../../../api/generated.ts';
import { useAction, useApi } from '../../../api/queries.ts';
import { PageLink, usePageSearch } from '../../../app/navigation.tsx';
import { useSession } from '../../../app/session-context.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { statusColumn, timeColumn } from '../../../components/DataTable.tsx';
import { Facts } from '../../../components/Facts.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { showDone, showError } from '../../../components/notices.tsx';
import { RelativeTime } from '../../../components/RelativeTime.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { organizationStatuses, organizationsPage } from '../page.ts';
import { ConfigureOrganization } from './ConfigureOrganization.tsx';
import { CreateOrganization } from './CreateOrganization.tsx';
import { SuspendOrganization } from './SuspendOrganization.tsx';

const limit = 50;

const columns: readonly Column<Organization>[] = [
  { header: 'Name', cell: ({ name }) => <TenantText text={name} /> },
  { header: 'Short name', cell: ({ slug }) => <TenantText text={slug} /> },
  { header: 'Plan', width: '7rem', cell: ({ planTier }) => planTier },
  statusColumn(),
  timeColumn('Created', ({ createdAt }) => createdAt),
];

export function OrganizationsPage(): ReactNode {
  const [search, setSearch] = usePageSearch(organizationsPage);
  const [suspending, setSuspending] = useState<string>();
  const input = {
    query: { status: search.status, since: search.from, until: search.to, page: search.page, limit },
  };
  const organizations = useApi('listOrganizations', input, { keepPrevious: true });
  const shown = organizations.data?.data ?? [];
  const byId = (id: string | undefined) => shown.find(({ organizationId }) => organizationId === id);
  const configured = useFrozen(byId(search.configure), search.configure);
  const suspended = useFrozen(byId(suspending), suspending);
  const createButton = (
    <IconButton icon="plus" onClick={() => setSearch({ create: true })}>
      Create organization
    </IconButton>
  );
  return (
    <>
      <ListPage
        title="Organizations"
        description="The organizations of this instance. Each has its own agents, plan and audit log."
        noun="organizations"
        query={organizations}
        columns={columns}
        rowId={({ organizationId }) => organizationId}
        search={search}
        onSearch={setSearch}
        filters={[
          { kind: 'choice', name: 'status', label: 'Status', options: organizationStatuses },
          { kind: 'time' },
        ]}
        detail={{
          title: (_, row) => <TenantText text={row?.name} fallback="Organization" />,
          render: (id, row) => (
            <OrganizationDetail id={id} organization={row} onSuspend={() => setSuspending(id)} />
          ),
        }}
        empty={{ icon: 'organization', title: 'No organizations yet' }}
        actions={<CopyAs operation="listOrganizations" input={input} />}
        create={createButton}
      />
      <CreateOrganization opened={search.create} onClose={() => setSearch({ create: false })} />
      {configured && (
        <ConfigureOrganization
          key={configured.organizationId}
          organization={configured}
          opened
          onClose={() => setSearch({ configure: undefined })}
        />
      )}
      <SuspendOrganization organization={suspended} onClose={() => setSuspending(undefined)} />
    </>
  );
}

function OrganizationDetail({
  id,
  organization,
  onSuspend,
}: {
  readonly id: string;
  readonly organization: Organization | undefined;
  readonly onSuspend: () => void;
}) {
  const [, setSearch] = usePageSearch(organizationsPage);
  const { organizationId: own } = useSession();
  const update = useAction('updateOrganization', { refreshes: ['/organizations'] });
  const reactivation = { params: { orgId: id }, body: { status: 'active' } } as const;
  const reactivate = () =>
    update.mutateAsync(reactivation).then(() => showDone('Organization reactivated.'), showError);
  const open = (
    <Button component={PageLink} to="/organization" search={{ id }} variant="default">
      Members and people
    </Button>
  );
  if (!organization) return <Group>{open}</Group>;
  const { name, slug, planTier, status, createdAt, updatedAt } = organization;
  return (
    <Stack>
      <Facts
        facts={{
          Name: <TenantText text={name} multiline />,
          'Short name': <TenantText text={slug} />,
          Status: <StatusBadge status={status} />,
          Plan: planTier,
          Created: <RelativeTime time={createdAt} />,
          Changed: <RelativeTime time={updatedAt} />,
          Id: <code>{id}</code>,
        }}
      />
      <Group gap="xs">
        {open}
        {status !== 'deleted' && (
          <Button variant="default" onClick={() => setSearch({ configure: id })}>
            Change plan
          </Button>
        )}
        {status === 'active' && id !== own && (
          <Button variant="default" onClick={() => onSuspend()}>
            Suspend
          </Button>
        )}
        {status === 'suspended' && (
          <>
            <Button variant="default" loading={update.isPending} onClick={() => void reactivate()}>
              Reactivate
            </Button>
            <CopyAs operation="updateOrganization" input={reactivation} label="reactivation" />
          </>
        )}
      </Group>
    </Stack>
  );
}
