/** A realm export of Keycloak, as far as the import needs it. Secrets are not read. */
import { duplicateField } from '../../../../kernel/http/input/duplicate-field.ts';
import { CommandError } from '../../../command-error.ts';
import { quoted } from '../../../terminal.ts';
import {
  attributeOf,
  descriptionOf,
  type Field,
  isTrue,
  items,
  member,
  members,
  nameOf,
  namesOf,
  optionalName,
  problemAt,
  required,
} from './fields.ts';

/** Without a client: of the realm. */
export interface RoleName {
  readonly client?: string;
  readonly name: string;
}

export interface Role extends RoleName {
  readonly path: string;
  readonly description: string | undefined;
  readonly parts: readonly RoleName[];
}

export interface Client {
  readonly path: string;
  readonly clientId: string;
  readonly name: string | undefined;
  readonly enabled: boolean;
  readonly isSaml: boolean;
  readonly isPublic: boolean;
  readonly hasServiceAccount: boolean;
  readonly signsPeopleIn: boolean;
  readonly hasPolicies: boolean;
  readonly hasFullScope: boolean;
  readonly needsDpop: boolean;
  /** `client-secret`, `client-jwt`, `client-x509` and others. */
  readonly authenticator: string;
  readonly scopes: readonly string[];
  /** That its own mappers add to its tokens. */
  readonly audiences: readonly string[];
}

export interface ClientScope {
  readonly name: string;
  readonly path: string;
  readonly description: string | undefined;
  readonly audiences: readonly string[];
}

interface Account {
  readonly enabled: boolean;
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
}

interface ScopeMapping {
  readonly client: string | undefined;
  readonly clientScope: string | undefined;
  readonly roles: readonly RoleName[];
}

export interface Realm {
  readonly name: string;
  readonly clients: ReadonlyMap<string, Client>;
  readonly roles: readonly Role[];
  readonly clientScopes: ReadonlyMap<string, ClientScope>;
  /** By path: the roles of a group and of those that it is in. */
  readonly groups: ReadonlyMap<string, readonly RoleName[]>;
  /** By client id. */
  readonly accounts: ReadonlyMap<string, Account>;
  readonly people: number;
  readonly scopeMappings: readonly ScopeMapping[];
}

const maxGroupDepth = 32;

export function readRealm(text: string, wanted: string | undefined): Realm {
  const realms = parse(text);
  const names = realms.map((field) => nameOf(required(field, 'realm')));
  if (wanted === undefined && realms.length > 1)
    throw new CommandError(
      `the file has ${realms.length} realms; choose one with --realm: ${quoted(names.join(', '))}`,
    );
  const index = wanted === undefined ? 0 : names.indexOf(wanted);
  const field = realms[index];
  if (!field)
    throw new CommandError(
      `the file has no realm ${quoted(wanted)}; it has ${quoted(names.join(', ')) || 'none'}`,
    );
  return realmOf(field, names[index] ?? '');
}

/** An export of all realms into one file is a list. */
function parse(text: string): Field[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CommandError(`the file is not JSON: ${quoted((error as Error).message)}`);
  }
  const repeated = duplicateField(text);
  if (repeated !== undefined)
    throw new CommandError(`the file has the field ${quoted(repeated)} twice in one object`);
  const root = { path: '', value };
  return Array.isArray(value) ? items(root) : [root];
}

function realmOf(realm: Field, name: string): Realm {
  const users = items(usersOf(realm));
  const accounts = users.filter((user) => member(user, 'serviceAccountClientId'));
  const scopeMappings = [
    ...items(member(realm, 'scopeMappings')).map((field) => mappingOf(field, undefined)),
    ...members(member(realm, 'clientScopeMappings')).flatMap(([client, field]) =>
      items(field).map((mapping) => mappingOf(mapping, client)),
    ),
  ];
  const roles = member(realm, 'roles');
  return {
    name,
    scopeMappings,
    clients: byName(items(required(realm, 'clients')).map(clientOf), ({ clientId }) => clientId, 'clientId'),
    roles: [
      ...items(member(roles, 'realm')).map((role) => roleOf(role, undefined)),
      ...members(member(roles, 'client')).flatMap(([client, field]) =>
        items(field).map((role) => roleOf(role, client)),
      ),
    ],
    clientScopes: byName(
      items(member(realm, 'clientScopes')).map((field) => ({
        path: field.path,
        name: nameOf(required(field, 'name')),
        description: descriptionOf(member(field, 'description')),
        audiences: audiencesOf(field),
      })),
      ({ name: scope }) => scope,
      'name',
    ),
    groups: new Map(groupsOf(items(member(realm, 'groups')), [], 0)),
    accounts: new Map(accounts.map(accountOf)),
    people: users.length - accounts.length,
  };
}

/** An export into a folder has them in files of their own. */
function usersOf(realm: Field): Field {
  const users = member(realm, 'users');
  if (users) return users;
  throw problemAt(
    { path: 'users' },
    'is missing, and the roles of service accounts are in it: export the realm with `kc.sh export --users realm_file`, or in the admin console with groups, roles and clients',
  );
}

function byName<T extends { readonly path: string }>(
  things: readonly T[],
  nameIn: (thing: T) => string,
  field: string,
): Map<string, T> {
  const found = new Map<string, T>();
  for (const thing of things) {
    const name = nameIn(thing);
    const first = found.get(name);
    if (first)
      throw problemAt({ path: `${thing.path}.${field}` }, `is that of ${first.path}, too: ${quoted(name)}`);
    found.set(name, thing);
  }
  return found;
}

function clientOf(field: Field): Client {
  const attributes = member(field, 'attributes');
  const is = (key: string, byDefault?: boolean) => isTrue(member(field, key), byDefault);
  return {
    path: field.path,
    clientId: nameOf(required(field, 'clientId')),
    name: optionalName(member(field, 'name')),
    enabled: is('enabled', true),
    isSaml: optionalName(member(field, 'protocol')) === 'saml',
    isPublic: is('publicClient'),
    hasServiceAccount: is('serviceAccountsEnabled'),
    signsPeopleIn: is('standardFlowEnabled') || is('implicitFlowEnabled') || is('directAccessGrantsEnabled'),
    hasPolicies: is('authorizationServicesEnabled'),
    hasFullScope: is('fullScopeAllowed', !is('consentRequired')),
    needsDpop: attributeOf(attributes, 'dpop.bound.access.tokens') === 'true',
    authenticator: optionalName(member(field, 'clientAuthenticatorType')) ?? 'client-secret',
    scopes: [
      ...new Set([
        ...namesOf(member(field, 'defaultClientScopes')),
        ...namesOf(member(field, 'optionalClientScopes')),
      ]),
    ],
    audiences: audiencesOf(field),
  };
}

/** A mapper names a client, or any text. */
function audiencesOf(field: Field): string[] {
  return items(member(field, 'protocolMappers')).flatMap((mapper) => {
    if (optionalName(member(mapper, 'protocolMapper')) !== 'oidc-audience-mapper') return [];
    const config = member(mapper, 'config');
    const name =
      optionalName(member(config, 'included.client.audience')) ??
      optionalName(member(config, 'included.custom.audience'));
    return name === undefined ? [] : [name];
  });
}

function roleOf(field: Field, client: string | undefined): Role {
  const composites = member(field, 'composites');
  return {
    path: field.path,
    name: nameOf(required(field, 'name')),
    ...(client !== undefined && { client }),
    description: descriptionOf(member(field, 'description')),
    parts: rolesIn(member(composites, 'realm'), member(composites, 'client')),
  };
}

const rolesIn = (ofRealm: Field | undefined, ofClients: Field | undefined): RoleName[] => [
  ...namesOf(ofRealm).map((name) => ({ name })),
  ...members(ofClients).flatMap(([client, names]) => namesOf(names).map((name) => ({ client, name }))),
];

function mappingOf(field: Field, client: string | undefined): ScopeMapping {
  return {
    client: optionalName(member(field, 'client')),
    clientScope: optionalName(member(field, 'clientScope')),
    roles: namesOf(member(field, 'roles')).map((name) =>
      client === undefined ? { name } : { client, name },
    ),
  };
}

function groupsOf(
  groups: readonly Field[],
  inherited: readonly RoleName[],
  depth: number,
): [string, readonly RoleName[]][] {
  return groups.flatMap((group) => {
    if (depth > maxGroupDepth) throw problemAt(group, 'is nested too deeply');
    const own = rolesIn(member(group, 'realmRoles'), member(group, 'clientRoles'));
    const roles = [...inherited, ...own];
    const path = nameOf(required(group, 'path'));
    return [[path, roles], ...groupsOf(items(member(group, 'subGroups')), roles, depth + 1)];
  });
}

function accountOf(user: Field): [string, Account] {
  const account = {
    enabled: isTrue(member(user, 'enabled'), true),
    roles: rolesIn(member(user, 'realmRoles'), member(user, 'clientRoles')),
    groups: namesOf(member(user, 'groups')),
  };
  return [nameOf(required(user, 'serviceAccountClientId')), account];
}
