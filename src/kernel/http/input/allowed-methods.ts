/** The methods of a path, from the route table: for the 405 of a known path with another method. */
import type { RouteEntry } from '../route.ts';

/** The methods that the router answers at this URL; empty when no route has the path. */
export type AllowedMethods = (url: string) => readonly string[];

interface Pattern {
  readonly segments: readonly string[];
  readonly methods: Set<string>;
}

const order = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** `more`: methods that the server answers at every path. */
export function createAllowedMethods(
  routes: readonly Pick<RouteEntry, 'method' | 'alsoMethods' | 'path'>[],
  more: readonly string[],
): AllowedMethods {
  const patterns = new Map<string, Pattern>();
  for (const { method, alsoMethods = [], path } of routes) {
    const pattern = patterns.get(path) ?? { segments: segmentsOf(path), methods: new Set(more) };
    patterns.set(path, pattern);
    for (const one of [method, ...alsoMethods]) pattern.methods.add(one);
    // Fastify answers HEAD wherever it answers GET.
    if (method === 'GET') pattern.methods.add('HEAD');
  }
  const all = [...patterns.values()];

  return (url) => {
    const given = pathOf(url)?.split('/');
    if (!given) return [];
    // Several patterns can match, such as /audit/verify and /audit/:eventId; the router tries each.
    const found = new Set(
      all.filter((pattern) => matches(pattern, given)).flatMap(({ methods }) => [...methods]),
    );
    return order.filter((method) => found.has(method));
  };
}

/** Literal segments, `:parameter`, and `*` as the last. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/');
  const isUnderstood = (segment: string, index: number) =>
    segment === '*' ? index === segments.length - 1 : /^:?[\w.-]*$/.test(segment);
  if (!segments.every(isUnderstood))
    throw new Error(`allowed-methods.ts does not understand the path ${path}`);
  return segments;
}

/** As the router reads it: without query, decoded but for an encoded slash; undefined for invalid percent-encoding. */
function pathOf(url: string): string | undefined {
  const [path = ''] = url.replace(/^https?:\/\/.*?\//, '/').split(/[?#]/, 1);
  try {
    return decodeURI(path);
  } catch {
    return undefined;
  }
}

function matches({ segments }: Pattern, given: readonly string[]): boolean {
  const isPrefix = segments.at(-1) === '*';
  if (isPrefix ? given.length < segments.length : given.length !== segments.length) return false;
  return segments.every(
    (segment, index) => segment === given[index] || segment === '*' || segment.startsWith(':'),
  );
}
