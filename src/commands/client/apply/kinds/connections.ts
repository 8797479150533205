/** Connections. The issuer and the client id identify one, as on the server. */
import type { Change, Planning } from '../change.ts';
import { placeOf } from '../client-secrets.ts';
import { additions, differences, newValues, pick } from '../compare.ts';
import { type ConnectionEntry, type LiveConnection, managedFields } from '../file/entries.ts';
import type { Entry } from '../file/identity-file.ts';
import { organizationIdOf, type Reference } from '../references.ts';
import { deletionOf, type Existing, updateOf } from './existing.ts';
import { ofOrganization } from './of-organization.ts';

const fields = managedFields.connections;

export function planConnections(planning: Planning): Change[] {
  const { file, live, references, problems, pruned } = planning;
  if (!file.connections) return [];
  /** Ids of those that exist, and what identifies the others. */
  const named = new Set<string>();
  const changes = file.connections.flatMap((entry): Change[] => {
    const { value, at } = entry;
    const owner = references.organization(value.organization, at('organization'));
    const all = owner && ofOrganization(planning, live.connections, owner, [], at());
    if (!owner || !all) return [];
    const found = all.find(({ connectionId, issuer, clientId }) =>
      value.id === undefined
        ? issuer === value.issuer && clientId === value.clientId
        : connectionId === value.id.toLowerCase(),
    );
    if (!found && value.id !== undefined) {
      problems.add(at('id'), `organization ${owner.label} has no connection with this id`);
      return [];
    }
    const key = found?.connectionId ?? `${owner.key} ${value.issuer} ${value.clientId}`;
    if (named.has(key)) problems.add(at('clientId'), 'an earlier entry has this connection');
    named.add(key);
    if (!found) return [creation(planning, entry, owner)];
    if (found.issuer !== value.issuer)
      problems.add(at('issuer'), 'the issuer of a connection cannot change; remove the id to create another');
    return update(planning, entry, found, owner);
  });
  if (!pruned) return changes;
  const absent = [...live.connections]
    .filter(([organizationId]) => pruned.has(organizationId))
    .flatMap(([, connections]) => connections)
    .filter(({ connectionId }) => !named.has(connectionId));
  return [...changes, ...absent.map((connection) => deletion(connection, planning))];
}

const nameOf = ({ name, issuer }: Pick<LiveConnection, 'name' | 'issuer'>) => `${name} (${issuer})`;

function creation(
  { clientSecrets, problems }: Planning,
  { value, at, folder }: Entry<ConnectionEntry>,
  owner: Reference,
): Change {
  const { id: _, organization: __, clientSecret: source, status = 'active', ...rest } = value;
  if (!source)
    problems.add(
      at(),
      'a new connection needs clientSecret: the name of a variable (env) or the path of a file (file) that holds it',
    );
  const clientSecret = source && clientSecrets.read(source, folder, at('clientSecret'));
  return {
    action: 'create',
    kind: 'connection',
    name: nameOf(value),
    organization: owner.label,
    fields: additions([...fields.slice(1), 'clientSecret'], {
      ...value,
      ...(source && { clientSecret: placeOf(source) }),
    }),
    async apply({ api, ids }) {
      const path = `/organizations/${organizationIdOf(ids, owner.key)}/connections`;
      const { connectionId } = await api.send<LiveConnection>('POST', path, { ...rest, clientSecret });
      if (status !== 'active') await api.send('PATCH', `${path}/${connectionId}`, { status });
    },
  };
}

const existing = (live: LiveConnection, organization: string): Existing => ({
  kind: 'connection',
  name: nameOf(live),
  organization,
  path: `/organizations/${live.organizationId}/connections/${live.connectionId}`,
});

function update(
  { clientSecrets }: Planning,
  { value, at, folder }: Entry<ConnectionEntry>,
  live: LiveConnection,
  owner: Reference,
): Change[] {
  const changes = differences(fields, pick(fields, value), live);
  const { clientSecret: source } = value;
  const isSent = source && (clientSecrets.sendAll || changes.some(({ field }) => field === 'clientId'));
  if (!isSent) return updateOf(existing(live, owner.label), changes);
  const secret = { field: 'clientSecret', from: undefined, to: placeOf(source) };
  const clientSecret = clientSecrets.read(source, folder, at('clientSecret'));
  return updateOf(existing(live, owner.label), [...changes, secret], {
    body: { ...newValues(changes), clientSecret },
  });
}

function deletion(live: LiveConnection, { references }: Planning): Change {
  const organization = references.organizationLabel(live.organizationId);
  const remark = 'the sessions that began through it end, and invitations that wait for it are deleted';
  return deletionOf({ ...existing(live, organization), remark }, fields, live);
}
