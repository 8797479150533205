/**
 * Verification: the owner of a resource proves that it controls the host of the identifier. The host publishes a token of the resource, as
 * a TXT record or as a text on the port of the identifier. Operators can verify a resource without a proof.
 *
 * Whether another organization has the identifier is checked after the proof: the answer tells nothing to callers that do not control the
 * host.
 */

import type { Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { lockExclusive } from '../../kernel/data/locks.ts';
import { fail } from '../../kernel/fail.ts';
import { instance } from '../../kernel/policy.ts';
import { OutboundProblem } from '../../kernel/ports/outbound.ts';
import { grantEvent, resourceEvent } from './events.ts';
import type { ResourceDeps } from './feature.ts';
import { listGrantsOf } from './grants-store.ts';
import { audienceName, isAddress, needsProof, spellingsOf } from './identifier.ts';
import type { Resource, VerificationMethod, VerificationRequest } from './schema.ts';
import { deleteReservation, isTaken, markVerified } from './store.ts';
import { lockOwned, requireOwned } from './visibility.ts';

export interface VerificationService {
  verify(caller: Caller, resourceId: string, request: VerificationRequest): Promise<Resource>;
}

const timeoutMs = 8_000;
const maxBytes = 65_536;

export function createVerificationService({
  db,
  clock,
  ledger,
  outbound,
  resourceIdentifiers,
  requirePermission,
}: ResourceDeps): VerificationService {
  /** Undefined when the proof is there; otherwise the problem, which may be shown to the tenant. */
  const dnsProblem = async (name: string, expected: string): Promise<string | undefined> => {
    try {
      const records = await outbound.textRecords(name);
      return records.some((record) => record.trim() === expected) ? undefined : 'no such TXT record';
    } catch (error) {
      return messageOf(error);
    }
  };

  const wellKnownProblem = async (url: string, expected: string): Promise<string | undefined> => {
    try {
      const request = { method: 'GET', url, timeoutMs, maxBytes, overflow: 'truncate' } as const;
      const { status, body } = await outbound.send(request);
      if (status !== 200) return `the host answered ${status}`;
      return body.toString('utf8').split(/\s+/).includes(expected)
        ? undefined
        : 'the text does not have the token';
    } catch (error) {
      return messageOf(error);
    }
  };

  /** Both ways at once, so that the duration does not tell which of them failed first. */
  const prove = async ({ identifier, verification }: Resource): Promise<VerificationMethod> => {
    const { hostname, host } = new URL(identifier);
    const expected = `countersign-verification=${verification.token}`;
    const url = `https://${host}/.well-known/countersign-verification`;
    // An address has no name that could have a TXT record.
    const record = isAddress(hostname) ? undefined : `_countersign.${hostname}`;
    const [dns, wellKnown] = await Promise.all([
      record ? dnsProblem(record, expected) : 'an IP address has no TXT record',
      wellKnownProblem(url, expected),
    ]);
    if (!dns) return 'dns';
    if (!wellKnown) return 'well-known';
    const places = [...(record ? [`in a TXT record of ${record}`] : []), `at ${url}`].join(' or ');
    return fail('RESOURCE_NOT_VERIFIED', {
      message: `Publish ${expected} ${places}, then verify again.`,
      details: {
        expected,
        ...(record && { dns: { name: record, problem: dns } }),
        wellKnown: { url, problem: wellKnown },
      },
    });
  };

  return {
    async verify(caller, resourceId, { approve = false }) {
      if (approve) await requirePermission(caller, 'resources:approve', instance);
      const pending = await requireOwned(db, caller, resourceId);
      if (pending.verification.status === 'verified') return pending;
      const isProofNeeded = needsProof(resourceIdentifiers, pending.identifier) && !approve;
      const method = isProofNeeded ? await prove(pending) : approve ? 'operator' : null;
      return db.transaction(async (tx) => {
        const before = await lockOwned(tx, caller, resourceId);
        if (before.verification.status === 'verified') return before;
        const spellings = spellingsOf(before.identifier);
        await lockExclusive(tx, 'resource', [spellings[0]]);
        const nameOf = (identifier: string) =>
          audienceName(resourceIdentifiers, before.organizationId, identifier);
        await deleteReservation(tx, before.organizationId, spellings.map(nameOf));
        if (await isTaken(tx, spellings.map(nameOf)))
          fail('RESOURCE_ALREADY_EXISTS', { details: { field: 'identifier' } });
        const after: Resource = {
          ...before,
          verification: { ...before.verification, status: 'verified', method },
          updatedAt: isoTime(clock),
        };
        await markVerified(tx, after, nameOf(after.identifier));
        const facts = { changed: ['verification'], verificationMethod: method };
        const reason = 'resource.updated';
        const grants = await listGrantsOf(tx, { resourceId: after.resourceId });
        await ledger.recordAll(tx, [
          resourceEvent(caller, reason, after, facts),
          // They take effect now.
          ...grants.map((grant) => grantEvent(caller, 'grant.changed', after, grant, reason)),
        ]);
        return after;
      });
    },
  };
}

function messageOf(error: unknown): string {
  if (error instanceof OutboundProblem) return error.message;
  throw error;
}
