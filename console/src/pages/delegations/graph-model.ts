/** The graph of delegations: an agent or a person is a node, a link is an edge from its delegator to its delegatee. */
import type { DelegationChain } from '../../api/generated.ts';

export interface AgentNodeModel {
  /** Of the agent, or of the person. */
  readonly agentId: string;
  readonly type: DelegationChain['delegatorType'];
  /** How many of the shown links it gave and was given. */
  readonly given: number;
  readonly received: number;
}

export interface GraphModel {
  readonly agents: readonly AgentNodeModel[];
  readonly links: readonly DelegationChain[];
}

export function graphOf(links: readonly DelegationChain[]): GraphModel {
  const counts = new Map<string, { given: number; received: number }>();
  const countsOf = (agentId: string) => {
    const known = counts.get(agentId) ?? { given: 0, received: 0 };
    counts.set(agentId, known);
    return known;
  };
  const people = new Set<string>();
  for (const { delegatorType, delegatorId, delegateeId } of links) {
    if (delegatorType === 'person') people.add(delegatorId);
    countsOf(delegatorId).given += 1;
    countsOf(delegateeId).received += 1;
  }
  const agents = [...counts].map(([agentId, of]) => ({
    agentId,
    type: people.has(agentId) ? ('person' as const) : ('agent' as const),
    ...of,
  }));
  return { agents, links };
}

export type Direction = 'next' | 'previous' | 'down' | 'up';

/**
 * The link that an arrow key leads to: along the chain to the link it was passed on from (`up`) or to the first that was passed on
 * from it (`down`), otherwise to the one before or after it in the list. Without a selection: the first.
 */
export function neighborOf(
  links: readonly DelegationChain[],
  selectedId: string | undefined,
  direction: Direction,
): DelegationChain | undefined {
  const index = links.findIndex(({ chainId }) => chainId === selectedId);
  const selected = links[index];
  if (!selected) return links[0];
  switch (direction) {
    case 'up':
      return links.find(({ chainId }) => chainId === selected.parentChainId) ?? selected;
    case 'down':
      return links.find(({ parentChainId }) => parentChainId === selected.chainId) ?? selected;
    case 'next':
      return links[(index + 1) % links.length];
    case 'previous':
      return links[(index - 1 + links.length) % links.length];
  }
}

/** The links of the same chain: those above it and those below it. */
export function chainOf(links: readonly DelegationChain[], selectedId: string): ReadonlySet<string> {
  const byId = new Map(links.map((link) => [link.chainId, link]));
  const chain = new Set<string>();
  for (let link = byId.get(selectedId); link; link = byId.get(link.parentChainId ?? '')) {
    if (chain.has(link.chainId)) break;
    chain.add(link.chainId);
  }
  const below = new Set([selectedId]);
  // A parent is older than its children, and has a smaller depth.
  for (const link of [...links].sort((left, right) => left.depth - right.depth))
    if (link.parentChainId !== null && below.has(link.parentChainId)) below.add(link.chainId);
  return new Set([...chain, ...below]);
}
