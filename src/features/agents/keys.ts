/** Public keys of agents: as a caller sends them, and as a client publishes them. */

import { serviceFragments } from '../../contract/identity.ts';
import { type FieldProblem, isShape, validationError } from '../../kernel/http/input/validation.ts';
import type { AgentDeps } from './feature.ts';
import { type KeySet, maxKeys, PublicJwk } from './schema.ts';

type ReadPublicKey = AgentDeps['readPublicKey'];
export type StoredKey = PublicJwk & { kid: string };

const reservedKids: ReadonlySet<string> = new Set(serviceFragments);

/** VALIDATION_ERROR for a key that cannot be used. */
export async function readKeys(wanted: KeySet, read: ReadPublicKey): Promise<StoredKey[]> {
  const keys: StoredKey[] = [];
  const problems: FieldProblem[] = [];
  for (const [index, { ext: _, ...key }] of wanted.keys.entries()) {
    const refuse = (message: string) => problems.push({ in: 'body', field: `keys[${index}]`, message });
    try {
      const usable = await read(key);
      if (reservedKids.has(usable.kid))
        refuse(`has the kid ${usable.kid}, which is the id of a service in the agent's DID document`);
      if (keys.some(({ kid }) => kid === usable.kid))
        refuse(`has the kid ${usable.kid}, which another key has too`);
      keys.push(usable);
    } catch (error) {
      refuse((error as Error).message);
    }
  }
  if (problems.length > 0) throw validationError('body', problems);
  return keys;
}

const isPublicJwk = isShape<PublicJwk>(PublicJwk);
const knownMembers: ReadonlySet<string> = new Set(Object.keys(PublicJwk.properties));

/**
 * The keys of a published set that an agent could have registered. Others are left out (RFC 7517 §5): the set may have keys for other uses,
 * and members that we do not know.
 */
export async function readPublishedKeys(published: unknown, read: ReadPublicKey): Promise<StoredKey[]> {
  const { keys: candidates } = (published ?? {}) as { keys?: unknown };
  const keys: StoredKey[] = [];
  for (const candidate of Array.isArray(candidates) ? candidates.slice(0, maxPublishedKeys) : []) {
    const key = Object.fromEntries(
      Object.entries((candidate ?? {}) as object).filter(
        ([member]) => knownMembers.has(member) && member !== 'ext',
      ),
    );
    if (!isPublicJwk(key) || keys.length === maxKeys) continue;
    const usable = await read(key).catch(() => undefined);
    if (!usable || reservedKids.has(usable.kid) || keys.some(({ kid }) => kid === usable.kid)) continue;
    keys.push(usable);
  }
  return keys;
}

/** To check a key costs time, and anybody can publish a set. */
const maxPublishedKeys = 50;
