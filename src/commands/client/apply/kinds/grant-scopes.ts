/** Which scopes of a resource an agent can be granted, as far as the file and the server tell. */
import type { Planning } from '../change.ts';
import { keyOfEmail, type ResourceEntry } from '../file/entries.ts';
import type { Reference } from '../references.ts';

interface FileResource {
  readonly owner: string | undefined;
  readonly names: ReadonlySet<string>;
  /** By organization. Undefined when only the server knows them. */
  readonly shares: ReadonlyMap<string, ReadonlySet<string>> | undefined;
}

const namesIn = ({ scopes }: ResourceEntry): Set<string> =>
  new Set(scopes.map((scope) => (typeof scope === 'string' ? scope : scope.name)));

/** Returns the problem of a grant with this scope; undefined when there is none, or when only the server can tell. */
export function createScopeCheck(
  planning: Planning,
): (agent: Reference, resource: Reference, scope: string) => string | undefined {
  const { file, live, references } = planning;
  const liveNames = new Map(
    live.resources.map(({ identifier, scopes }) => [identifier, new Set(scopes.map(({ name }) => name))]),
  );
  const inFile = new Map(
    (file.resources ?? []).map((entry) => [entry.value.identifier, resourceOf(planning, entry)]),
  );
  const organizationOf = new Map([...live.agents].map(([key, { organizationId }]) => [key, organizationId]));
  for (const { value, at } of file.agents ?? []) {
    const owner = references.organization(value.organization, at('organization'));
    if (owner) organizationOf.set(keyOfEmail(value.email), owner.key);
  }

  return (agent, resource, scope) => {
    const entry = inFile.get(resource.key);
    const names = entry?.names ?? liveNames.get(resource.key);
    if (names && !names.has(scope)) return `${scope} is not a scope of ${resource.label}`;
    const organization = organizationOf.get(agent.key);
    if (!entry?.shares || organization === undefined || entry.owner === organization) return undefined;
    return entry.shares.get(organization)?.has(scope)
      ? undefined
      : `${scope} of ${resource.label} is not shared with the organization of ${agent.label}`;
  };
}

function resourceOf(
  { references }: Planning,
  { value, at }: NonNullable<Planning['file']['resources']>[number],
): FileResource {
  const exists = references.resourceOf(value.identifier) !== undefined;
  const shares = (value.shares ?? []).flatMap((share, index): [string, Set<string>][] => {
    const other = references.organization(share.organization, at('shares', index, 'organization'));
    return other ? [[other.key, new Set(share.scopes)]] : [];
  });
  return {
    owner: references.organization(value.organization, at('organization'))?.key,
    names: namesIn(value),
    shares: value.shares === undefined && exists ? undefined : new Map(shares),
  };
}
