/**
 * The test of a connection: an administrator signs in through it and sees the claims of the ID token, and which conditions they meet. No
 * session begins.
 */

import type { Caller, Origin } from '../../../kernel/caller.ts';
import { failedChecks, personChecks } from '../../../kernel/conditions/match.ts';
import { fail } from '../../../kernel/fail.ts';
import type { Cookies, SecretCookie } from '../../../kernel/http/input/secret-cookie.ts';
import { organization } from '../../../kernel/policy.ts';
import type { OpenIdProvider, ProviderIdentity } from '../../../kernel/ports/openid-provider.ts';
import type { ConnectionProvider } from '../../connections/providers.ts';
import type { ConsoleDeps } from '../feature.ts';
import type { Sessions } from '../sessions/service.ts';
import type { ConnectionTest } from './schema.ts';
import type { Step } from './service.ts';
import { type BegunSignIn, findClaims, updateClaims } from './store.ts';

export interface ConnectionTests {
  /** Sends the browser to the connection's provider. CONNECTION_NOT_FOUND. */
  startTest(caller: Caller, connectionId: string): Promise<Step>;
  /** Stores the claims for `findTest`. */
  finishTest(hash: Buffer, identity: ProviderIdentity): Promise<Step>;
  /** The last test of this browser. CONNECTION_NOT_FOUND when it has none. */
  findTest(caller: Caller, cookies: Cookies): Promise<ConnectionTest>;
}

interface SignInSteps {
  begin(origin: Origin, source: () => OpenIdProvider, signIn: BegunSignIn): Promise<Step>;
  readonly cookie: Pick<SecretCookie, 'hashIn'>;
}

export const testPage = '/console/connection-test';

const testerOf = ({ person, agentId }: Caller): string => person?.personId ?? agentId;

export function createConnectionTests(
  { db, clock, connections, requirePermission }: ConsoleDeps,
  { requireSafeCookies }: Pick<Sessions, 'requireSafeCookies'>,
  { begin, cookie }: SignInSteps,
): ConnectionTests {
  /** For an unknown connection the same as for one of another organization. */
  const requireManager = (caller: Caller, connection: ConnectionProvider | undefined) =>
    requirePermission(
      caller,
      'organizations:managePeople',
      organization(connection?.organizationId ?? caller.organizationId),
      { foreign: 'CONNECTION_NOT_FOUND' },
    );

  return {
    async startTest(caller, connectionId) {
      requireSafeCookies();
      const connection = await connections.findProvider(db, connectionId);
      await requireManager(caller, connection);
      if (!connection) return fail('CONNECTION_NOT_FOUND');
      return begin(caller, connection.provider, {
        returnTo: testPage,
        connectionId: connection.connectionId,
        requestId: null,
        testerId: testerOf(caller),
      });
    },

    async finishTest(hash, { claims }) {
      await updateClaims(db, hash, claims);
      return { location: testPage, cookies: [] };
    },

    async findTest(caller, cookies) {
      const hash = cookie.hashIn(cookies);
      const now = new Date(clock.now());
      const test = hash && (await findClaims(db, { hash, testerId: testerOf(caller), now }));
      const connection = test && (await connections.findProvider(db, test.connectionId));
      await requireManager(caller, connection);
      if (!test || !connection)
        return fail('CONNECTION_NOT_FOUND', { message: 'This browser has no test: begin again.' });
      const { claims } = test;
      const checks = personChecks(connection.conditions, claims);
      return {
        connectionId: connection.connectionId,
        claims,
        checks,
        admitted: failedChecks(checks).length === 0,
      };
    },
  };
}
