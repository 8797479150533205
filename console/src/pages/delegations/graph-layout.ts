/**
 * Positions of the graph. elkjs computes them in a worker, so that the page stays usable; worker and library load with this page only.
 * Until it has answered, and for graphs that take it seconds, the agents stand in columns by their depth in the chains.
 */
import type { ELK, ElkExtendedEdge, ElkLabel, ElkNode } from 'elkjs/lib/elk-api.js';
import type { DelegationChain } from '../../api/generated.ts';
import type { GraphModel } from './graph-model.ts';

export const nodeWidth = 190;
export const nodeHeight = 40;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  /** The upper left corner, by agent. */
  readonly agents: ReadonlyMap<string, Point>;
  /** The corners of the line, from the delegator to the delegatee, by link. Links without an entry are curves. */
  readonly links: ReadonlyMap<string, readonly Point[]>;
  /** The middle of the label, by link; none where labels have no room. */
  readonly labels: ReadonlyMap<string, Point>;
}

/** elkjs needs several seconds for some graphs of more links. */
export const maxElkLinks = 150;

/** More labels than these could not be read: then the selected chain alone has them. */
const maxLabels = { RIGHT: 40, DOWN: 4 };

/** One line of small text. elkjs gives no place to a label without id and text. */
const labelOf = ({ chainId, scopes: [first = ''] }: DelegationChain): ElkLabel => ({
  id: `label ${chainId}`,
  text: first,
  width: Math.min(240, 120 + 7 * first.length),
  height: 24,
  layoutOptions: { 'elk.edgeLabels.inline': 'true' },
});

export type Direction = 'RIGHT' | 'DOWN';

const options = {
  'elk.algorithm': 'layered',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.spacing.edgeEdge': '14',
  'elk.layered.spacing.edgeNodeBetweenLayers': '28',
  'elk.spacing.componentComponent': '48',
  'elk.aspectRatio': '2',
};

let started: Promise<ELK> | undefined;

function startWorker(): Promise<ELK> {
  started ??= (async () => {
    const [{ default: Elk }, { default: workerUrl }] = await Promise.all([
      import('elkjs/lib/elk-api.js'),
      import('elkjs/lib/elk-worker.min.js?url'),
    ]);
    return new Elk({ workerFactory: () => new Worker(workerUrl) });
  })();
  return started;
}

/** `DOWN` for narrow screens. */
export async function elkLayout({ agents, links }: GraphModel, direction: Direction): Promise<Layout> {
  const elk = await startWorker();
  const isLabelled = links.length <= maxLabels[direction];
  const { children = [], edges = [] } = await elk.layout({
    id: 'graph',
    layoutOptions: {
      ...options,
      'elk.direction': direction,
      // Labels make room for themselves.
      'elk.layered.spacing.nodeNodeBetweenLayers': isLabelled ? '32' : direction === 'RIGHT' ? '235' : '64',
      'elk.spacing.nodeNode': '28',
    },
    children: agents.map(({ agentId }) => ({ id: agentId, width: nodeWidth, height: nodeHeight })),
    edges: links.map((link) => ({
      id: link.chainId,
      sources: [link.delegatorId],
      targets: [link.delegateeId],
      labels: isLabelled ? [labelOf(link)] : [],
    })),
  });
  return {
    agents: new Map(children.map(({ id, x = 0, y = 0 }: ElkNode) => [id, { x, y }])),
    links: new Map(edges.map((edge) => [edge.id, pointsOf(edge)])),
    labels: new Map(edges.flatMap(({ id, labels = [] }) => labels.map((label) => [id, middleOf(label)]))),
  };
}

const middleOf = ({ x = 0, y = 0, width = 0, height = 0 }: ElkLabel): Point => ({
  x: x + width / 2,
  y: y + height / 2,
});

const pointsOf = ({ sections }: ElkExtendedEdge): Point[] =>
  (sections ?? []).flatMap(({ startPoint, bendPoints = [], endPoint }) => [
    startPoint,
    ...bendPoints,
    endPoint,
  ]);

const rowHeight = nodeHeight + 16;
const columnGap = 210;
const subColumnGap = 40;
const minRows = 12;

/** Delegators left of their delegatees, and agents of one tree near each other. A long column continues beside itself. */
export function columnLayout({ agents, links }: GraphModel): Layout {
  const depths = depthsOf(links);
  const order = orderOf(links);
  const columns = new Map<number, string[]>();
  for (const { agentId } of agents) {
    const depth = depths.get(agentId) ?? 0;
    columns.set(depth, [...(columns.get(depth) ?? []), agentId]);
  }
  const rows = Math.max(minRows, Math.ceil(Math.sqrt(agents.length * 4)));
  const positions = new Map<string, Point>();
  let x = 0;
  for (const [, column] of [...columns].sort(([left], [right]) => left - right)) {
    column.sort((left, right) => (order.get(left) ?? 0) - (order.get(right) ?? 0));
    const subColumns = Math.ceil(column.length / rows);
    const height = Math.ceil(column.length / subColumns);
    const top = ((rows - Math.min(height, rows)) * rowHeight) / 2;
    for (const [index, agentId] of column.entries())
      positions.set(agentId, {
        x: x + Math.floor(index / height) * (nodeWidth + subColumnGap),
        y: top + (index % height) * rowHeight,
      });
    x += subColumns * (nodeWidth + subColumnGap) - subColumnGap + columnGap;
  }
  return { agents: positions, links: new Map(), labels: new Map() };
}

/** The least depth at which an agent appears: 0 for agents that delegate power of their own. */
function depthsOf(links: GraphModel['links']): Map<string, number> {
  const depths = new Map<string, number>();
  const note = (agentId: string, depth: number) =>
    depths.set(agentId, Math.min(depth, depths.get(agentId) ?? depth));
  for (const { depth, delegatorId, delegateeId } of links) {
    note(delegatorId, depth - 1);
    note(delegateeId, depth);
  }
  return depths;
}

/** The agents in the order of a walk from delegators to delegatees. */
function orderOf(links: GraphModel['links']): Map<string, number> {
  const delegatees = new Map<string, string[]>();
  for (const { delegatorId, delegateeId } of links)
    delegatees.set(delegatorId, [...(delegatees.get(delegatorId) ?? []), delegateeId]);
  const order = new Map<string, number>();
  const roots = [...links].sort((left, right) => left.depth - right.depth);
  for (const { delegatorId } of roots) {
    const stack = [delegatorId];
    for (let agentId = stack.pop(); agentId !== undefined; agentId = stack.pop()) {
      if (order.has(agentId)) continue;
      order.set(agentId, order.size);
      stack.push(...(delegatees.get(agentId) ?? []).toReversed());
    }
  }
  return order;
}
