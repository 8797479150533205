/**
 * Connections as OpenID providers. A provider keeps what it has discovered, so it is cached; each sign-in reads the connection, and one that
 * has changed since gets a new provider, on every node.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../../contract/conditions.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { createLru } from '../../kernel/data/lru.ts';
import { VaultProblem } from '../../kernel/data/vault.ts';
import { type OpenIdProvider, ProviderProblem } from '../../kernel/ports/openid-provider.ts';
import type { ConnectionDeps } from './feature.ts';
import { findStored, type StoredConnection } from './store.ts';

export interface ConnectionProvider {
  readonly connectionId: string;
  readonly organizationId: string;
  readonly conditions: readonly Condition[];
  /** The connection and its organization are active. */
  readonly usable: boolean;
  /** ProviderProblem when the secret cannot be read. */
  provider(): OpenIdProvider;
}

export interface ConnectionProviders {
  /** Undefined when there is none. */
  findProvider(db: Queryable, connectionId: string): Promise<ConnectionProvider | undefined>;
}

/** Each may keep half a megabyte, if the provider sends that much. */
const maxCached = 100;

export function createConnectionProviders({
  vault,
  openProvider,
}: Pick<ConnectionDeps, 'vault' | 'openProvider'>): ConnectionProviders {
  const cache = createLru<{ settings: object; provider: OpenIdProvider }>(maxCached);

  const providerOf = (connection: StoredConnection): OpenIdProvider => {
    const { connectionId, name, issuer, clientId, scopes, sealedSecret } = connection;
    const settings = { name, issuer, clientId, scopes, sealedSecret };
    const cached = cache.get(connectionId);
    if (cached && isDeepStrictEqual(cached.settings, settings)) return cached.provider;
    const clientSecret = open(sealedSecret, connectionId);
    const provider = openProvider({ name, issuer, clientId, clientSecret, scopes });
    cache.set(connectionId, { settings, provider });
    return provider;
  };

  const open = (sealedSecret: string, connectionId: string): string => {
    try {
      return vault.open(sealedSecret, connectionId);
    } catch (error) {
      if (!(error instanceof VaultProblem)) throw error;
      throw new ProviderProblem('unavailable', `the client secret cannot be read: ${error.message}`);
    }
  };

  return {
    async findProvider(db, connectionId) {
      const connection = await findStored(db, connectionId);
      if (!connection) return undefined;
      const { organizationId, conditions, usable } = connection;
      return {
        connectionId: connection.connectionId,
        organizationId,
        conditions,
        usable,
        provider: () => providerOf(connection),
      };
    },
  };
}
