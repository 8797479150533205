import { Tabs } from '@mantine/core';
import { usePageSearch } from '../../app/navigation.tsx';
import { operatorScope } from '../../app/page.ts';
import { useCan } from '../../app/session-context.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { Partners } from './Partners.tsx';
import { Policies, policiesInput } from './Policies.tsx';
import { trustPage } from './page.ts';

const descriptions = {
  policies: 'Workloads of other platforms become agents with a token of their platform, without a secret.',
  partners:
    'Other identity providers whose tokens this instance can verify. Their tokens give no access here.',
};

export function TrustPage() {
  const can = useCan();
  const [search, setSearch] = usePageSearch(trustPage);
  const { tab } = search;
  const mayCreate = can(tab === 'policies' ? 'agents:write' : operatorScope);
  return (
    <>
      <PageTitle
        title="Trust"
        description={descriptions[tab]}
        actions={
          <>
            {tab === 'policies' ? (
              <CopyAs operation="listTrustPolicies" input={policiesInput(search)} />
            ) : (
              <CopyAs operation="listPartners" input={{}} />
            )}
            {mayCreate && (
              <IconButton icon="plus" onClick={() => setSearch({ create: true })}>
                {tab === 'policies' ? 'Create policy' : 'Add partner'}
              </IconButton>
            )}
          </>
        }
      />
      <Tabs
        value={tab}
        onChange={(next) =>
          setSearch({ tab: next as typeof tab, selected: undefined, create: false, page: 1 })
        }
        keepMounted={false}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="policies">Trust policies</Tabs.Tab>
          <Tabs.Tab value="partners">Federation partners</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="policies">
          <Policies />
        </Tabs.Panel>
        <Tabs.Panel value="partners">
          <Partners />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
