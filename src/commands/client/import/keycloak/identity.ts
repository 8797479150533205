/** Translates a realm into entries of an identity file: service accounts → agents, the APIs whose roles they hold → APIs, roles → grants. */
import { resourceIdentifier } from '../../../../contract/patterns.ts';
import { isScope } from '../../../../contract/scopes.ts';
import { CommandError, exitCodes } from '../../../command-error.ts';
import { quoted } from '../../../terminal.ts';
import type { AgentEntry, Entries, ResourceEntry } from '../../apply/file/entries.ts';
import { suggestion } from '../../apply/file/nearest.ts';
import { createEmails } from './agent-email.ts';
import { isBuiltInClient, isBuiltInScope, isDefaultRole } from './built-in.ts';
import type { LeftOut } from './left-out.ts';
import type { Client, Realm, RoleName } from './realm.ts';
import { createRoles } from './roles.ts';

export interface ImportOptions {
  readonly emailDomain: string;
  readonly owner: string;
  readonly deploymentEnv: string;
  /** By client id, or by the audience that a mapper names: the identifier of the API. */
  readonly apis: ReadonlyMap<string, string>;
  /** Client ids of the service accounts to import; undefined for all. */
  readonly only: ReadonlySet<string> | undefined;
  /** Client ids of service accounts and APIs that are not imported. */
  readonly without: ReadonlySet<string>;
}

export interface Identity {
  readonly version: 1;
  readonly agents: readonly AgentEntry[];
  readonly resources: readonly ResourceEntry[];
  readonly grants: readonly Entries['grants'][];
}

const maxScopes = 100;
const maxDescription = 256;
const maxDisplayName = 64;
const scopeForm = /^[!#-[\]-~]{1,64}$/;
const identifierForm = new RegExp(resourceIdentifier);

export function identityOf(realm: Realm, options: ImportOptions, leftOut: LeftOut): Identity {
  refuseUnknown(realm, options);
  const accounts = [...realm.clients.values()].filter(
    ({ clientId, hasServiceAccount, isSaml }) =>
      hasServiceAccount &&
      !isSaml &&
      !isBuiltInClient(clientId) &&
      (options.only?.has(clientId) ?? true) &&
      !options.without.has(clientId),
  );
  const held = new Map(
    accounts.map((client) => [client.clientId, scopesOf(client, realm, options, leftOut)]),
  );
  const apis = new Set([
    ...options.apis.keys(),
    ...[...held.values()].flatMap((scopes) => [...scopes.keys()]),
  ]);
  const identifiers = identifiersOf([...apis], options);
  const resources = [...apis].flatMap((api) => {
    const resource = resourceOf(api, identifiers.get(api) ?? '', realm, leftOut);
    return resource ? [resource] : [];
  });
  const offered = new Map(
    resources.map(({ identifier, scopes }) => [
      identifier,
      new Set(scopes.map((scope) => (typeof scope === 'string' ? scope : scope.name))),
    ]),
  );
  const emails = createEmails(options.emailDomain);
  const agents: AgentEntry[] = [];
  const grants: Entries['grants'][] = [];
  for (const client of accounts) {
    const email = emails.of(client);
    const ofClient = [...(held.get(client.clientId) ?? [])].flatMap(([api, names]) => {
      const resource = identifiers.get(api) ?? '';
      const scopes = [...names].filter((name) => offered.get(resource)?.has(name)).sort();
      return scopes.length === 0 ? [] : [{ agent: email, resource, scopes, api }];
    });
    agents.push(agentOf(client, email, ofClient, realm, options, leftOut));
    grants.push(...ofClient.map(({ api: _, ...grant }) => grant));
  }
  noteOthers(realm, options, apis, leftOut);
  return { version: 1, agents, resources, grants };
}

/** A mistyped name would leave out the wrong client, or nothing. */
function refuseUnknown({ clients, clientScopes }: Realm, { apis, only, without }: ImportOptions): void {
  const audiences = [...clientScopes.values()].flatMap((scope) => scope.audiences);
  const check = (option: string, names: Iterable<string>, known: readonly string[]) => {
    for (const name of names)
      if (!known.includes(name))
        throw new CommandError(
          `${option} ${quoted(name)}: the realm has no such client${quoted(suggestion(name, known))}`,
          exitCodes.usage,
        );
  };
  const ids = [...clients.keys()];
  check('--api', apis.keys(), [...ids, ...audiences]);
  check('--without', without, [...ids, ...audiences]);
  check(
    '--only',
    only ?? [],
    ids.filter((id) => clients.get(id)?.hasServiceAccount),
  );
}

/** By API: the names of the scopes that the service account gets. */
function scopesOf(
  client: Client,
  realm: Realm,
  { without }: ImportOptions,
  leftOut: LeftOut,
): Map<string, Set<string>> {
  const { clientId } = client;
  const account = `agent ${clientId}`;
  const scopes = new Map<string, Set<string>>();
  const add = (api: string, name: string) => scopes.set(api, (scopes.get(api) ?? new Set()).add(name));
  const { held, refused } = createRoles(realm).of(client);
  if (!realm.accounts.has(clientId))
    leftOut.add(account, 'its roles: the export has no user with this serviceAccountClientId');
  for (const role of held.filter((one) => !isDefaultRole(one, realm.name))) {
    if (role.client === undefined) leftOut.add(account, `realm role ${role.name}: it belongs to no API`);
    else if (isBuiltInClient(role.client))
      leftOut.add(account, `role ${role.name} of ${role.client}: it is for the administration of Keycloak`);
    else if (without.has(role.client)) leftOut.add(account, `${labelOf(role)}: --without ${role.client}`);
    else add(role.client, role.name);
  }
  for (const role of refused.filter((one) => !isDefaultRole(one, realm.name)))
    leftOut.add(account, `${labelOf(role)}: its tokens do not carry it (fullScopeAllowed is false)`);
  for (const name of client.scopes.filter((one) => !isBuiltInScope(one))) {
    const audiences = realm.clientScopes.get(name)?.audiences ?? [];
    if (audiences.length === 0)
      leftOut.add(account, `client scope ${name}: no audience mapper in it names an API`);
    for (const api of audiences) {
      if (without.has(api)) leftOut.add(account, `client scope ${name}: --without ${api}`);
      else add(api, name);
    }
  }
  for (const audience of client.audiences)
    if (!scopes.has(audience))
      leftOut.add(account, `audience ${audience} of its own mapper: it holds no scope of this API`);
  return scopes;
}

const labelOf = ({ client, name }: RoleName): string =>
  client === undefined ? `realm role ${name}` : `role ${name} of ${client}`;

function identifiersOf(apis: readonly string[], options: ImportOptions): Map<string, string> {
  const found = new Map(
    apis.map((api) => [api, options.apis.get(api) ?? (identifierForm.test(api) ? api : undefined)]),
  );
  const missing = apis.filter((api) => found.get(api) === undefined);
  if (missing.length > 0)
    throw new CommandError(
      [
        'these clients become APIs, and an API needs its https:// address as identifier. Give for each:',
        ...missing.map((api) => `  --api ${quoted(api)}=https://…`),
        'or leave one out with --without and its name',
      ].join('\n'),
      exitCodes.usage,
    );
  const identifiers = found as Map<string, string>;
  for (const [api, identifier] of identifiers)
    for (const [other, same] of identifiers)
      if (other !== api && same === identifier)
        throw new CommandError(
          `${quoted(api)} and ${quoted(other)} have the same identifier ${quoted(identifier)}`,
          exitCodes.usage,
        );
  return identifiers;
}

/** All roles of the client, and all client scopes for it: also those that no service account holds yet. */
function resourceOf(
  api: string,
  identifier: string,
  realm: Realm,
  leftOut: LeftOut,
): ResourceEntry | undefined {
  const label = `API ${api}`;
  const named = [
    ...realm.roles.filter((role) => role.client === api && !isDefaultRole(role, realm.name)),
    ...[...realm.clientScopes.values()].filter(({ audiences }) => audiences.includes(api)),
  ];
  const scopes = new Map<string, string | { name: string; description: string }>();
  for (const { name, description } of named) {
    if (!scopeForm.test(name))
      leftOut.add(label, `${name}: a scope has 1 to 64 printable ASCII characters, without blanks, " and \\`);
    else if (isScope(name)) leftOut.add(label, `${name}: Countersign has a scope of this name itself`);
    else if (!scopes.has(name))
      scopes.set(
        name,
        description === undefined || description.length > maxDescription || description.startsWith('${')
          ? name
          : { name, description },
      );
  }
  if (scopes.size > maxScopes)
    throw new CommandError(
      `${quoted(api)} has ${scopes.size} roles and scopes; an API has at most ${maxScopes} scopes. Divide it, or leave it out with --without`,
    );
  if (scopes.size === 0) {
    leftOut.add(label, 'it has no role or scope that can be imported');
    return undefined;
  }
  const name = realm.clients.get(api)?.name;
  return {
    identifier,
    name: name === undefined || name.startsWith('${') || name.length > 128 ? api.slice(0, 128) : name,
    scopes: [...scopes.values()],
  };
}

function agentOf(
  client: Client,
  email: string,
  grants: readonly { readonly api: string; readonly scopes: readonly string[] }[],
  realm: Realm,
  { owner, deploymentEnv }: ImportOptions,
  leftOut: LeftOut,
): AgentEntry {
  const { clientId, name, needsDpop, authenticator, signsPeopleIn, enabled } = client;
  const label = `agent ${clientId}`;
  if (authenticator !== 'client-secret')
    leftOut.add(label, `its key (${authenticator}): register a public key for the agent`);
  if (signsPeopleIn) leftOut.add(label, 'its flows that sign people in, with redirect URIs');
  const isNamed = name !== undefined && !name.startsWith('${') && name.trim().length <= maxDisplayName;
  if (name !== undefined && !isNamed)
    leftOut.add(label, `its name: a display name has at most ${maxDisplayName} characters`);
  // Left out for an enabled client: a second import must not end a suspension.
  const isSuspended = !enabled || realm.accounts.get(clientId)?.enabled === false;
  return {
    email,
    ...(isNamed && name.trim() !== '' && { displayName: name.trim() }),
    agentType: 'custom',
    version: '1.0.0',
    capabilities: capabilitiesOf(grants),
    owner,
    deploymentEnv,
    ...(needsDpop && { dpopBoundAccessTokens: true }),
    ...(isSuspended && { status: 'suspended' }),
  };
}

const maxCapabilities = 100;

/** `orders-api:orders.read`. A scope such as `orders:read` has the form of a capability already. */
function capabilitiesOf(
  grants: readonly { readonly api: string; readonly scopes: readonly string[] }[],
): string[] {
  const word = (text: string) => text.replace(/[^A-Za-z0-9_.-]+/g, '-').slice(0, 60);
  const names = grants.flatMap(({ api, scopes }) =>
    scopes.map((scope) =>
      /^[A-Za-z0-9_.-]+:[A-Za-z0-9_.*-]+$/.test(scope) ? scope : `${word(api)}:${word(scope)}`,
    ),
  );
  const capabilities = [...new Set(names)].sort().slice(0, maxCapabilities);
  return capabilities.length > 0 ? capabilities : ['service:run'];
}

function noteOthers(
  { clients, people }: Realm,
  { only, without }: ImportOptions,
  apis: ReadonlySet<string>,
  leftOut: LeftOut,
): void {
  for (const { clientId, isPublic, isSaml, hasServiceAccount, hasPolicies } of clients.values()) {
    if (isBuiltInClient(clientId)) continue;
    const label = `client ${clientId}`;
    if (hasPolicies) leftOut.add(label, 'its authorization services, with their policies and permissions');
    if (without.has(clientId)) leftOut.add(label, '--without names it');
    else if (hasServiceAccount && only && !only.has(clientId)) leftOut.add(label, '--only does not name it');
    else if (isSaml) leftOut.add(label, 'a SAML client');
    else if (isPublic) leftOut.add(label, 'a public client: it signs people in');
    else if (!hasServiceAccount && !apis.has(clientId))
      leftOut.add(label, 'no service account, and no imported agent holds a role of it');
  }
  if (people > 0)
    leftOut.add(
      `${people} ${people === 1 ? 'user' : 'users'}`,
      'people sign in through a connection: docs/guides/connections/keycloak.md',
    );
}
