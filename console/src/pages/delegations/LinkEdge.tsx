import { BaseEdge, type Edge, EdgeLabelRenderer, type EdgeProps } from '@xyflow/react';
import { memo } from 'react';
import type { DelegationChain } from '../../api/generated.ts';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { visibleText } from '../../components/TenantText.tsx';
import classes from './DelegationGraph.module.css';
import type { Line } from './link-line.ts';

export type LinkEdgeType = Edge<
  {
    readonly link: DelegationChain;
    readonly line: Line;
    /** Of the chain of the selected link. */
    readonly inChain: boolean;
    readonly dimmed: boolean;
    readonly labelled: boolean;
  },
  'link'
>;

/** A link: solid and green while it is active; dashed after it has ended. */
export const LinkEdge = memo(function LinkEdge({ id, data, selected, markerEnd }: EdgeProps<LinkEdgeType>) {
  if (!data) return null;
  const { link, line, inChain, dimmed, labelled } = data;
  return (
    <g
      className={classes.link}
      data-status={link.status}
      data-chain={inChain || undefined}
      data-dimmed={dimmed || undefined}
    >
      <BaseEdge id={id} path={line.path} interactionWidth={14} {...(markerEnd && { markerEnd })} />
      {labelled && <title>{`${shortScopes(link, 10)} · ${link.status}`}</title>}
      {labelled && !dimmed && (
        <EdgeLabelRenderer>
          <div
            className={classes.label}
            data-selected={selected || undefined}
            data-status={link.status}
            style={{ transform: `translate(-50%, -50%) translate(${line.label.x}px, ${line.label.y}px)` }}
          >
            <bdi>{shortScopes(link, 1)}</bdi>
            {' · '}
            {link.status === 'active' ? <RelativeTime time={link.expiresAt} /> : link.status}
          </div>
        </EdgeLabelRenderer>
      )}
    </g>
  );
});

const shortScopes = ({ scopes }: DelegationChain, shown: number): string =>
  visibleText(scopes.slice(0, shown).join(', ')) +
  (scopes.length > shown ? ` +${scopes.length - shown}` : '');
