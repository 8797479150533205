import { Alert, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { ErrorState } from '../../components/ErrorState.tsx';
import { Icon } from '../../components/Icon.tsx';
import { DelegationGraph } from './DelegationGraph.tsx';
import classes from './DelegationsPage.module.css';
import { type LinkFilters, useGraphLinks, usePlacedGraph } from './use-graph.ts';

interface GraphPanelProps {
  readonly query: LinkFilters;
  readonly selectedId: string | undefined;
  readonly onSelect: (chainId: string | undefined) => void;
  readonly onAgent: ((agentId: string) => void) | undefined;
}

/** The graph with its own states. An empty one is not drawn: the table says it. */
export function GraphPanel({ query, selectedId, onSelect, onAgent }: GraphPanelProps) {
  const isNarrow = useMediaQuery('(max-width: 43.75em)', false, { getInitialValueInEffect: false });
  const { data, error, refetch } = useGraphLinks(query, true);
  const graph = usePlacedGraph(data?.links, isNarrow ? 'DOWN' : 'RIGHT');
  if (error && !data)
    return <ErrorState error={error} title="The graph could not be loaded" onRetry={() => void refetch()} />;
  if (data?.links.length === 0) return null;
  if (!data || !graph)
    return <div className={classes.placeholder} role="status" aria-label="Loading the graph" />;
  const { links, total } = data;
  return (
    <>
      {total > links.length && (
        <Alert mb="xs" icon={<Icon name="filter" />}>
          The graph shows the newest {links.length.toLocaleString('en')} of {total.toLocaleString('en')}{' '}
          delegations. Choose an agent to see all of its delegations.
        </Alert>
      )}
      <DelegationGraph graph={graph} selectedId={selectedId} onSelect={onSelect} onAgent={onAgent} />
      <Text size="xs" c="dimmed" mb="sm">
        An arrow leads from the delegator to the delegatee. Click a link for its chain, or an agent to see its
        delegations only. Keyboard: Tab to a link, ← → along its chain, ↑ ↓ to the next link. Ctrl and wheel
        zoom.
      </Text>
    </>
  );
}
