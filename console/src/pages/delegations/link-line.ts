/** The line of a link in the graph, and the place of its label. */
import { nodeHeight, nodeWidth, type Point } from './graph-layout.ts';

export interface Line {
  readonly path: string;
  readonly label: Point;
}

const cornerRadius = 8;

/** Through the corners that the layout chose, with the label where it has room. */
export const lineThrough = (points: readonly Point[], label = middleOfLongest(points)): Line => ({
  path: pathThrough(points),
  label,
});

function pathThrough(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let path = `M ${first.x} ${first.y}`;
  for (const [index, corner] of rest.entries()) {
    const before = points[index] as Point;
    const after = rest[index + 1];
    if (!after) return `${path} L ${corner.x} ${corner.y}`;
    const start = towards(corner, before);
    const end = towards(corner, after);
    path += ` L ${start.x} ${start.y} Q ${corner.x} ${corner.y} ${end.x} ${end.y}`;
  }
  return path;
}

/** The point at the radius of a corner, or half way if that is nearer. */
function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length === 0) return from;
  const share = Math.min(cornerRadius / length, 0.5);
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

function middleOfLongest(points: readonly Point[]): Point {
  let longest = -1;
  let middle: Point = points[0] ?? { x: 0, y: 0 };
  for (const [index, to] of points.slice(1).entries()) {
    const from = points[index] as Point;
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    if (length <= longest) continue;
    longest = length;
    middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  }
  return middle;
}

const parallelGap = 18;

/**
 * A curve from the right side of the delegator to the left side of the delegatee. Links between the same two agents spread by
 * `offset`: …, -1, 0, 1, …
 */
export function curveBetween(delegator: Point, delegatee: Point, offset: number): Line {
  const from = { x: delegator.x + nodeWidth, y: delegator.y + nodeHeight / 2 };
  const to = { x: delegatee.x, y: delegatee.y + nodeHeight / 2 };
  const reach = Math.max(50, Math.abs(to.x - from.x) / 2);
  const shift = offset * parallelGap;
  const [a, b] = [
    { x: from.x + reach, y: from.y + shift },
    { x: to.x - reach, y: to.y + shift },
  ];
  return {
    path: `M ${from.x} ${from.y} C ${a.x} ${a.y} ${b.x} ${b.y} ${to.x} ${to.y}`,
    label: { x: (from.x + 3 * a.x + 3 * b.x + to.x) / 8, y: (from.y + 3 * a.y + 3 * b.y + to.y) / 8 },
  };
}
