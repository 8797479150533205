import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApi } from '../../api/queries.ts';
import { usePageSearch, usePathParam } from '../../app/navigation.tsx';
import { useCan, useSession } from '../../app/session-context.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { ActionTypes } from './ActionTypes.tsx';
import { ApiActions } from './ApiActions.tsx';
import { ApiFacts } from './ApiFacts.tsx';
import { Holders } from './Holders.tsx';
import { HostProof } from './HostProof.tsx';
import { ownershipOf } from './ownership.ts';
import { apiPage, apiTabs } from './page.ts';
import { Scopes } from './Scopes.tsx';
import { Shares } from './Shares.tsx';
import { Verification } from './Verification.tsx';

const back = { to: '/apis', label: 'All APIs' };
const tabLabels: Readonly<Record<(typeof apiTabs)[number], string>> = {
  scopes: 'Scopes',
  actions: 'Actions',
  holders: 'Holders',
  shares: 'Shares',
  verify: 'Verify tokens',
};

/** One API: its scopes, who holds them, with whom it is shared, and how it verifies tokens. */
export function ApiPage(): ReactNode {
  const resourceId = usePathParam('resourceId');
  const session = useSession();
  const can = useCan();
  const [search, setSearch] = usePageSearch(apiPage);
  const query = useApi('getResource', { params: { resourceId } });
  const resource = query.data;
  if (!resource)
    return (
      <>
        <PageTitle title="API" back={back} />
        <QueryState query={query} label="Loading API" />
      </>
    );
  const ownership = ownershipOf(resource, session);
  const mayChange = can('resources:write') && ownership !== 'shared';
  const tabs = apiTabs.filter((tab) => tab !== 'shares' || mayChange);
  const tab = tabs.includes(search.tab) ? search.tab : 'scopes';
  return (
    <>
      <PageTitle
        title={<TenantText text={resource.name} />}
        back={back}
        description={resource.description && <TenantText text={resource.description} multiline />}
        actions={<ApiActions resource={resource} ownership={ownership} mayChange={mayChange} />}
      />
      {mayChange && resource.verification.status === 'pending' && <HostProof resource={resource} />}
      <ApiFacts resource={resource} ownership={ownership} />
      <Tabs
        value={tab}
        onChange={(next) =>
          setSearch({ tab: apiTabs.find((one) => one === next) ?? 'scopes', page: 1, scope: undefined })
        }
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {tabs.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {tabLabels[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="scopes">
          <Scopes resource={resource} onHolders={(scope) => setSearch({ tab: 'holders', scope, page: 1 })} />
        </Tabs.Panel>
        <Tabs.Panel value="actions">
          <ActionTypes resource={resource} />
        </Tabs.Panel>
        <Tabs.Panel value="holders">
          <Holders resource={resource} />
        </Tabs.Panel>
        <Tabs.Panel value="shares">
          <Shares resource={resource} />
        </Tabs.Panel>
        <Tabs.Panel value="verify">
          <Verification resource={resource} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
