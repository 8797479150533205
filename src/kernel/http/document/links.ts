/** Links: from an answer that creates something to the operations on it, and those that entries name. */
import type { RouteEntry } from '../route.ts';
import type { Schema } from './examples.ts';

/** Path parameters whose field in answers has another name. */
const fieldOf: Readonly<Record<string, string>> = { orgId: 'organizationId' };

const parametersOf = (path: string): string[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);

export function linksOf(entry: RouteEntry, routes: readonly RouteEntry[]): Record<string, object> {
  return { ...followUps(entry, routes), ...namedLinks(entry) };
}

/** After `POST /agents`: every operation below `/agents/:agentId` that needs no further id. */
function followUps(entry: RouteEntry, routes: readonly RouteEntry[]): Record<string, object> {
  const created = entry.schema.response[201] as Schema | undefined;
  if (!created) return {};
  const given = parametersOf(entry.path);
  const links = routes.flatMap((target) => {
    if (target.hidden || !target.path.startsWith(`${entry.path}/:`)) return [];
    const [own, ...others] = parametersOf(target.path).filter((name) => !given.includes(name));
    if (own === undefined || others.length > 0) return [];
    const field = [own, fieldOf[own] ?? ''].find((name) => created.properties?.[name]);
    if (!field) return [];
    const parameters = {
      ...Object.fromEntries(given.map((name) => [name, `$request.path.${name}`])),
      [own]: `$response.body#/${field}`,
    };
    return [[target.id, { operationId: target.id, parameters, description: target.summary }]];
  });
  return Object.fromEntries(links);
}

const namedLinks = ({ links = [] }: RouteEntry): Record<string, object> =>
  Object.fromEntries(links.map(({ to, ...link }) => [to, { operationId: to, ...link }]));
