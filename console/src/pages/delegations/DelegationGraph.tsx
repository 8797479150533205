import { useComputedColorScheme } from '@mantine/core';
import {
  Background,
  ControlButton,
  Controls,
  getViewportForBounds,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  type Rect,
  useReactFlow,
  useStore,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import {
  createContext,
  type KeyboardEvent,
  type RefObject,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { DelegationChain } from '../../api/generated.ts';
import { PartyName } from '../../components/PartyName.tsx';
import classes from './DelegationGraph.module.css';
import { type Layout, maxElkLinks, nodeHeight, nodeWidth } from './graph-layout.ts';
import { type AgentNodeModel, chainOf, type Direction, neighborOf } from './graph-model.ts';
import { LinkEdge, type LinkEdgeType } from './LinkEdge.tsx';
import { curveBetween, type Line, lineThrough } from './link-line.ts';
import type { PlacedGraph } from './use-graph.ts';

interface DelegationGraphProps {
  readonly graph: PlacedGraph;
  readonly selectedId: string | undefined;
  readonly onSelect: (chainId: string | undefined) => void;
  readonly onAgent?: ((agentId: string) => void) | undefined;
}

const nodeTypes = { agent: AgentNode };
const edgeTypes = { link: LinkEdge };
const minZoom = 0.05;
/** From here on the names of agents can be read. */
const readableZoom = 0.4;
/** Whether agents show their names. A large graph has none from afar: hundreds of names take time, and cannot be read. */
const Detail = createContext(true);
const directions: Readonly<Record<string, Direction>> = {
  ArrowRight: 'down',
  ArrowLeft: 'up',
  ArrowDown: 'next',
  ArrowUp: 'previous',
};

/** Agents as nodes, links as edges. The arrow keys go from link to link. */
export function DelegationGraph(props: DelegationGraphProps) {
  return (
    <ReactFlowProvider>
      <Graph {...props} />
    </ReactFlowProvider>
  );
}

function Graph({ graph, selectedId, onSelect, onAgent }: DelegationGraphProps) {
  const box = useRef<HTMLDivElement>(null);
  const flow = useReactFlow();
  const scheme = useComputedColorScheme();
  const lines = useMemo(() => linesOf(graph), [graph]);
  const nodes = useMemo(() => nodesOf(graph), [graph]);
  const edges = useMemo(() => edgesOf(graph, lines, selectedId), [graph, lines, selectedId]);

  const hasMoved = useRef(false);
  const isLarge = graph.links.length > maxElkLinks;
  const { fit, isFitted } = useFit(box, graph, hasMoved);
  // Before the first fit the zoom says nothing: names would be loaded that are out of sight after it.
  const isNear = useStore(({ transform: [, , zoom] }) => zoom >= readableZoom) && isFitted;

  const go = (event: KeyboardEvent) => {
    const direction = directions[event.key];
    if (event.key === 'Escape') return onSelect(undefined);
    if (!direction || (event.target as Element).closest('button')) return;
    event.preventDefault();
    const next = neighborOf(graph.links, selectedId, direction);
    if (!next) return;
    onSelect(next.chainId);
    show(next.chainId);
  };

  /** Moves the view to a link that is out of sight, and the focus to it. */
  const show = (chainId: string) => {
    const label = lines.get(chainId)?.label;
    const area = box.current?.getBoundingClientRect();
    if (!label || !area) return;
    const { x, y } = flow.flowToScreenPosition(label);
    if (x < area.left || x > area.right || y < area.top || y > area.bottom)
      void flow.setCenter(label.x, label.y, { zoom: Math.max(flow.getZoom(), 0.5) });
    // After the selected edge has become the one that takes the focus.
    setTimeout(
      () => box.current?.querySelector<SVGElement>(`.react-flow__edge[data-id="${chainId}"]`)?.focus(),
      50,
    );
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of the focused edge inside arrive here
    <div
      ref={box}
      className={classes.box}
      onKeyDown={go}
      data-testid="delegation-graph"
      data-links={edges.length}
    >
      <Detail value={!isLarge || isNear}>
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
          colorMode={scheme}
          minZoom={minZoom}
          maxZoom={1.6}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          elementsSelectable
          selectNodesOnDrag={false}
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          disableKeyboardA11y
          zoomOnScroll={false}
          panOnScroll={false}
          preventScrolling={false}
          zoomActivationKeyCode={['Control', 'Meta']}
          proOptions={{ hideAttribution: true }}
          onlyRenderVisibleElements={isLarge && isNear}
          onMoveStart={(event) => {
            // Without an event the page moved it, not the user.
            if (event) hasMoved.current = true;
          }}
          aria-label="Graph of delegations"
          onEdgeClick={(_, { id }) => onSelect(id)}
          onNodeClick={(_, { id, data }) => {
            if (data.agent.type === 'agent') onAgent?.(id);
          }}
          onPaneClick={() => onSelect(undefined)}
        >
          <Background gap={24} size={1} />
          <Controls showInteractive={false} showFitView={false} position="top-right">
            <ControlButton onClick={fit} aria-label="Show the whole graph" title="Show the whole graph">
              <svg viewBox="0 0 16 16" aria-hidden="true">
                <path d="M2 5.5V2h3.5M10.5 2H14v3.5M14 10.5V14h-3.5M5.5 14H2v-3.5" />
              </svg>
            </ControlButton>
          </Controls>
        </ReactFlow>
      </Detail>
    </div>
  );
}

/** Shows the whole graph: after a new layout, and in a box of another size unless the user has moved it. */
function useFit(
  box: RefObject<HTMLDivElement | null>,
  { layout }: PlacedGraph,
  hasMoved: RefObject<boolean>,
): { fit: () => void; isFitted: boolean } {
  const flow = useReactFlow();
  const [isFitted, setFitted] = useState(false);
  const fit = useCallback(() => {
    const { clientWidth, clientHeight } = box.current ?? {};
    if (!clientWidth || !clientHeight) return;
    const viewport = getViewportForBounds(boundsOf(layout), clientWidth, clientHeight, minZoom, 1, 0.06);
    void flow.setViewport(viewport).then((done) => done && setFitted(true));
  }, [box, flow, layout]);
  useEffect(() => {
    hasMoved.current = false;
    const frame = requestAnimationFrame(fit);
    return () => cancelAnimationFrame(frame);
  }, [fit, hasMoved]);
  useEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(() => {
      if (!hasMoved.current) fit();
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box, fit, hasMoved]);
  return { fit, isFitted };
}

function boundsOf({ agents }: Layout): Rect {
  const points = [...agents.values()];
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) + nodeWidth - x, height: Math.max(...ys) + nodeHeight - y };
}

type AgentNodeType = Node<{ readonly agent: AgentNodeModel }, 'agent'>;

function AgentNode({ data: { agent } }: NodeProps<AgentNodeType>) {
  const { agentId, type, given, received } = agent;
  const hasName = useContext(Detail);
  return (
    <div className={classes.agent} data-root={received === 0 || undefined}>
      <Handle type="target" position={Position.Left} isConnectable={false} className={classes.handle ?? ''} />
      <Handle
        type="source"
        position={Position.Right}
        isConnectable={false}
        className={classes.handle ?? ''}
      />
      {hasName && (
        <>
          <span className={classes.name}>
            <PartyName type={type} id={agentId} link={false} />
          </span>
          <span className={classes.counts}>
            {given > 0 && `gave ${given}`}
            {given > 0 && received > 0 && ' · '}
            {received > 0 && `has ${received}`}
          </span>
        </>
      )}
    </div>
  );
}

const nodesOf = ({ agents, layout }: PlacedGraph): AgentNodeType[] =>
  agents.map((agent) => ({
    id: agent.agentId,
    type: 'agent',
    position: { ...(layout.agents.get(agent.agentId) ?? { x: 0, y: 0 }) },
    data: { agent },
    width: nodeWidth,
    height: nodeHeight,
    // With these the edges appear before anything is measured.
    handles: handles.map((handle) => ({ ...handle })),
  }));

const handles = [
  { type: 'source', position: Position.Right, x: nodeWidth, y: nodeHeight / 2, width: 1, height: 1 },
  { type: 'target', position: Position.Left, x: 0, y: nodeHeight / 2, width: 1, height: 1 },
] satisfies Node['handles'];

function linesOf({ links, layout }: PlacedGraph): ReadonlyMap<string, Line> {
  const pairs = new Map<string, DelegationChain[]>();
  for (const link of links) {
    const pair = `${link.delegatorId} ${link.delegateeId}`;
    pairs.set(pair, [...(pairs.get(pair) ?? []), link]);
  }
  const lines = new Map<string, Line>();
  for (const parallel of pairs.values())
    for (const [index, { chainId, delegatorId, delegateeId }] of parallel.entries()) {
      const points = layout.links.get(chainId);
      const [from, to] = [layout.agents.get(delegatorId), layout.agents.get(delegateeId)];
      if (points && points.length > 1) lines.set(chainId, lineThrough(points, layout.labels.get(chainId)));
      else if (from && to) lines.set(chainId, curveBetween(from, to, index - (parallel.length - 1) / 2));
    }
  return lines;
}

function edgesOf(
  { links, layout }: PlacedGraph,
  lines: ReadonlyMap<string, Line>,
  selectedId: string | undefined,
): LinkEdgeType[] {
  const isShown = links.some(({ chainId }) => chainId === selectedId);
  const chain = isShown && selectedId !== undefined ? chainOf(links, selectedId) : undefined;
  // One edge takes the focus of the Tab key; the arrow keys lead to the others.
  const focusedId = isShown ? selectedId : links[0]?.chainId;
  return links.flatMap((link): LinkEdgeType[] => {
    const { chainId, delegatorId, delegateeId, status, scopes } = link;
    const line = lines.get(chainId);
    if (!line) return [];
    const inChain = chain?.has(chainId) ?? false;
    return [
      {
        id: chainId,
        type: 'link',
        source: delegatorId,
        target: delegateeId,
        selected: chainId === selectedId,
        focusable: chainId === focusedId,
        zIndex: inChain ? 1 : 0,
        ariaLabel: `Delegation of ${scopes.slice(0, 5).join(', ')}, ${status}`,
        markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: `var(--link-${status})` },
        data: {
          link,
          line,
          inChain,
          dimmed: chain !== undefined && !inChain,
          labelled: inChain || layout.labels.has(chainId),
        },
      },
    ];
  });
}
