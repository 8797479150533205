/** One organization: its name and plan, its members, its people with their providers, and the clients that they use. */

import { Group, Paper, Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Organization } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { operatorScope } from '../../app/page.ts';
import { useSession } from '../../app/session-context.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { Facts } from '../../components/Facts.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { ApprovalsTab } from './approvals/ApprovalsTab.tsx';
import { ClientsTab } from './clients/ClientsTab.tsx';
import { ConnectionsTab } from './connections/ConnectionsTab.tsx';
import { MembersTab } from './members/MembersTab.tsx';
import classes from './organization.module.css';
import { organizationPage, organizationTabs } from './page.ts';
import { PeopleTab } from './people/PeopleTab.tsx';
import { RenameOrganization } from './RenameOrganization.tsx';

/** The filters and dialogs of one tab mean nothing on the next. */
const fresh = {
  role: undefined,
  status: undefined,
  page: 1,
  selected: undefined,
  change: undefined,
  add: false,
};

const unlimited = 2_147_483_647;
const figure = (value: number): string =>
  value >= unlimited ? 'unlimited' : `at most ${value.toLocaleString('en')}`;

export function OrganizationPage(): ReactNode {
  const [search, setSearch] = usePageSearch(organizationPage);
  const session = useSession();
  const isOperator = session.scopes.includes(operatorScope);
  // An address with another organization shows what the API shows: to anyone but an operator, nothing.
  const orgId = search.id ?? session.organizationId;
  const input = { params: { orgId } };
  const organization = useApi('getOrganization', input);
  const { data } = organization;
  return (
    <>
      <PageTitle
        title="Organization"
        description="Agents with a role, people and how they sign in, and the applications that may act for them."
        back={isOperator ? { to: '/organizations', label: 'All organizations' } : undefined}
        actions={
          data && (
            <Group gap="xs">
              <CopyAs operation="getOrganization" input={input} />
              <IconButton variant="default" icon="edit" onClick={() => setSearch({ rename: true })}>
                Rename
              </IconButton>
            </Group>
          )
        }
      />
      {organization.isPending && <LoadingState label="Loading the organization" rows={2} />}
      {organization.error && (
        <ErrorState error={organization.error} onRetry={() => void organization.refetch()} />
      )}
      {data && (
        <>
          <OrganizationFacts organization={data} />
          <Tabs
            value={search.tab}
            onChange={(tab) =>
              setSearch({ ...fresh, tab: organizationTabs.find((one) => one === tab) ?? 'members' })
            }
            mt="md"
            keepMounted={false}
          >
            <Tabs.List mb="md">
              <Tabs.Tab value="members">Members</Tabs.Tab>
              <Tabs.Tab value="people">People</Tabs.Tab>
              <Tabs.Tab value="connections">Connections</Tabs.Tab>
              <Tabs.Tab value="clients">Clients</Tabs.Tab>
              <Tabs.Tab value="approvals">Approvals</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="members">
              <MembersTab organization={data} />
            </Tabs.Panel>
            <Tabs.Panel value="people">
              <PeopleTab organization={data} />
            </Tabs.Panel>
            <Tabs.Panel value="connections">
              <ConnectionsTab organization={data} />
            </Tabs.Panel>
            <Tabs.Panel value="clients">
              <ClientsTab organization={data} />
            </Tabs.Panel>
            <Tabs.Panel value="approvals">
              <ApprovalsTab organization={data} />
            </Tabs.Panel>
          </Tabs>
          <RenameOrganization
            organization={data}
            opened={search.rename}
            onClose={() => setSearch({ rename: false })}
          />
        </>
      )}
    </>
  );
}

function OrganizationFacts({ organization }: { readonly organization: Organization }) {
  const { name, slug, planTier, status, maxAgents, maxTokensPerMonth, organizationId } = organization;
  return (
    <Paper component="section" aria-label="Name and plan">
      <Facts
        className={classes.facts}
        facts={{
          Name: <TenantText text={name} />,
          'Short name': <TenantText text={slug} />,
          Status: <StatusBadge status={status} />,
          Plan: planTier,
          Agents: figure(maxAgents),
          'Tokens per client and month': figure(maxTokensPerMonth),
          Id: <code>{organizationId}</code>,
        }}
      />
    </Paper>
  );
}
