import { SimpleGrid, Stack } from '@mantine/core';
import { usePageSearch } from '../../app/navigation.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { ExportButtons } from './ExportButtons.tsx';
import { Limits } from './Limits.tsx';
import { PeriodBar } from './PeriodBar.tsx';
import { usagePage } from './page.ts';
import { periodOf } from './period.ts';
import { Plan } from './plan/Plan.tsx';
import { pageSize, UsageByAgent } from './UsageByAgent.tsx';
import { UsageByDay } from './UsageByDay.tsx';

export function UsagePage() {
  const [search, setSearch] = usePageSearch(usagePage);
  const period = periodOf(search, Date.now());
  const curl =
    search.group === 'day' ? (
      <CopyAs operation="getUsage" input={{ query: period }} />
    ) : (
      <CopyAs
        operation="listUsageByAgent"
        input={{ query: { ...period, page: search.page, limit: pageSize } }}
      />
    );
  return (
    <>
      <PageTitle title="Usage and plan" actions={curl} />
      <Stack gap="md">
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
          <Plan search={search} onSearch={setSearch} />
          <Limits />
        </SimpleGrid>
        <PeriodBar search={search} period={period} onSearch={setSearch}>
          <ExportButtons period={period} />
        </PeriodBar>
        {search.group === 'day' ? (
          <UsageByDay period={period} />
        ) : (
          <UsageByAgent period={period} page={search.page} onPage={(page) => setSearch({ page })} />
        )}
      </Stack>
    </>
  );
}
