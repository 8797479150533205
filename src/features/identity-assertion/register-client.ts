/**
 * Clients that are named by the address of their metadata document. One that has never asked for a consent becomes an agent of the
 * organization by its first assertion: the provider vouches for it, and the organization's client policy decides. Its document is fetched
 * for assertions with a valid signature only, so that no other caller makes us fetch addresses.
 */

import type { Origin } from '../../kernel/caller.ts';
import { ApiError, TokenError } from '../../kernel/fail.ts';
import type { GrantRequest, UnbatchedGrant } from '../tokens/grant.ts';
import type { IdentityAssertionDeps } from './feature.ts';
import type { AssertionVerifier } from './verify.ts';

type ClientRegistration = Required<
  Pick<NonNullable<UnbatchedGrant['publicClients']>, 'findAgent' | 'register'>
>;

export function createRegisterClient(
  { db, clients, findClientAgent, hasDocument }: IdentityAssertionDeps,
  { verify, findOwner }: AssertionVerifier,
): ClientRegistration {
  const register = async (form: GrantRequest['form'], clientUri: string, origin: Origin): Promise<void> => {
    const { identity, target } = await verify(db, form, undefined);
    if (identity.clientId !== clientUri) return;
    const client = await clients.resolve(clientUri);
    if ('problem' in client || client.kind !== 'document') return;
    const { ownerId } = target;
    if (await hasDocument(db, ownerId, clientUri, client.document)) return;
    await db.transaction((tx) =>
      clients.agentOf(tx, { ...origin, organizationId: ownerId }, ownerId, client),
    );
  };

  return {
    async register(form, clientUri, origin) {
      try {
        if (form.assertion) await register(form, clientUri, origin);
      } catch (error) {
        // `prepare` refuses the assertion again. A plan without room for the client: it stays unknown.
        if (!(error instanceof TokenError || error instanceof ApiError)) throw error;
      }
    },

    async findAgent({ assertion }, clientUri) {
      const ownerId = assertion ? await findOwner(db, assertion) : undefined;
      // Each assertion is a consent, so the policy of today counts.
      if (ownerId === undefined || !(await clients.admits(db, ownerId, clientUri))) return undefined;
      return (await findClientAgent(db, ownerId, clientUri))?.agentId;
    },
  };
}
