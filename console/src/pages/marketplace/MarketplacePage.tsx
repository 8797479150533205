import { SegmentedControl } from '@mantine/core';
import { usePageSearch } from '../../app/navigation.tsx';
import { useCan } from '../../app/session-context.tsx';
import { FindAgents } from './FindAgents.tsx';
import { OwnListings } from './OwnListings.tsx';
import { marketplacePage } from './page.ts';

const viewLabels = { find: 'Find agents', own: 'Your listings' } as const;

const noFilters = {
  q: undefined,
  status: undefined,
  capability: undefined,
  category: undefined,
  agentType: undefined,
  verified: undefined,
};

export function MarketplacePage() {
  const [search, setSearch] = usePageSearch(marketplacePage);
  const can = useCan();
  const changeView = (view: string) =>
    setSearch({
      ...noFilters,
      view: view as typeof search.view,
      page: 1,
      selected: undefined,
    });
  const tabs = can('agents:read') && (
    <SegmentedControl
      size="xs"
      aria-label="Show"
      data={Object.entries(viewLabels).map(([value, label]) => ({ value, label }))}
      value={search.view}
      onChange={changeView}
    />
  );
  const View = search.view === 'own' ? OwnListings : FindAgents;
  return <View search={search} onSearch={setSearch} tabs={tabs} />;
}
