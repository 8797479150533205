/** The roles and client scopes that the tokens of a service account can carry. */
import type { Client, Realm, RoleName } from './realm.ts';

/** Names have no line breaks. */
export const keyOf = ({ client, name }: RoleName): string => `${client ?? ''}\n${name}`;

/** Of each service account, without those that the client may not use. */
export function createRoles({ roles, groups, accounts, scopeMappings }: Realm) {
  const known = new Map(roles.map((role) => [keyOf(role), role]));

  /** With all parts of composite roles. */
  const expanded = (names: readonly RoleName[]): Map<string, RoleName> => {
    const found = new Map<string, RoleName>();
    const open = [...names];
    for (let role = open.pop(); role; role = open.pop()) {
      if (found.has(keyOf(role))) continue;
      found.set(keyOf(role), role);
      open.push(...(known.get(keyOf(role))?.parts ?? []));
    }
    return found;
  };

  /** Of a client that does not have `fullScopeAllowed`. */
  const allowed = ({ clientId, scopes }: Client): Map<string, RoleName> =>
    expanded([
      ...roles.filter(({ client }) => client === clientId),
      ...scopeMappings
        .filter(
          ({ client, clientScope }) =>
            client === clientId || (clientScope !== undefined && scopes.includes(clientScope)),
        )
        .flatMap((mapping) => mapping.roles),
    ]);

  return {
    /** `refused` are roles that the account holds and that its tokens do not carry. */
    of(client: Client): { readonly held: readonly RoleName[]; readonly refused: readonly RoleName[] } {
      const account = accounts.get(client.clientId);
      const inherited = (account?.groups ?? []).flatMap((path) => groups.get(path) ?? []);
      const all = [...expanded([...(account?.roles ?? []), ...inherited]).values()];
      if (client.hasFullScope) return { held: all, refused: [] };
      const usable = allowed(client);
      return {
        held: all.filter((role) => usable.has(keyOf(role))),
        refused: all.filter((role) => !usable.has(keyOf(role))),
      };
    },
  };
}
