/**
 * The ends that can still concern a token, in memory. It is bounded: when an entry leaves, tokens from before it count as unknown. It leaves
 * when they have expired, or earlier if there are too many entries.
 */
import type { JWTPayload } from 'jose';
import type { VerifiedToken } from '../verify/access-token.ts';
import type { Signal } from './event.ts';

export interface SignalState {
  record(signal: Signal): void;
  /** `unknown`: an entry that has left could concern the token. */
  judge(token: VerifiedToken): 'good' | 'ended' | 'unknown';
  readonly size: number;
}

interface Narrowing {
  readonly at: number;
  readonly scopes: readonly string[];
}

interface Entry {
  readonly endedAt: number;
  readonly isPermanent: boolean;
  /** In the order of time. An earlier one that forbids no more than a later one is left out. */
  readonly narrowings: readonly Narrowing[];
}

const maxNarrowings = 20;
/**
 * A token counts as issued before an end up to this long after it: the nodes that issue tokens and end them have clocks of their own. A
 * token that an agent gets after its end has a later time.
 */
const issueToleranceMs = 2_000;
/** As long as the server keeps signals: twice the longest life of a token. */
const keptMs = 7_200_000;
const never = Number.NEGATIVE_INFINITY;
const untouched: Entry = { endedAt: never, isPermanent: false, narrowings: [] };

export function createSignalState(options: {
  /** The audience of the tokens. */
  readonly audience: string;
  readonly maxEntries: number;
  readonly now: () => number;
}): SignalState {
  const { audience, maxEntries, now } = options;
  /** In the order of their last change. */
  const entries = new Map<string, Entry>();
  /** Tokens that were issued until then may have ended without an entry. They have expired, unless entries left early. */
  let forgottenUntil = never;

  const purge = () => {
    const oldest = now() - keptMs;
    for (const [key, entry] of entries) {
      if (entries.size <= maxEntries && latestOf(entry) >= oldest) return;
      forgottenUntil = Math.max(forgottenUntil, latestOf(entry));
      entries.delete(key);
    }
  };

  const change = (key: string, next: (entry: Entry) => Entry) => {
    const entry = next(entries.get(key) ?? untouched);
    entries.delete(key);
    entries.set(key, entry);
    purge();
  };

  return {
    get size() {
      return entries.size;
    },

    record(signal) {
      if (signal.type === 'ended')
        return change(signal.id, (entry) => ({
          ...entry,
          endedAt: Math.max(entry.endedAt, signal.at),
          isPermanent: entry.isPermanent || signal.isPermanent,
        }));
      // Tokens of other audiences do not come here.
      if (signal.resource !== audience) return;
      change(partyKey(signal.party), (entry) => ({ ...entry, narrowings: add(entry.narrowings, signal) }));
    },

    judge({ subject, scopes, claims }) {
      const issuedAt = issueTimeOf(claims) - issueToleranceMs;
      const isEnded =
        finalIdsOf(claims).some((id) => entries.has(id)) ||
        partiesOf(claims).some((id) => {
          const { isPermanent, endedAt } = entries.get(id) ?? untouched;
          return isPermanent || issuedAt <= endedAt;
        });
      // A delegated token has scopes of its subject: the grants of other agents do not limit it.
      const isNarrowed = [undefined, subject.id].some((party) =>
        entries
          .get(partyKey(party))
          ?.narrowings.some(
            (one) => issuedAt <= one.at && scopes.some((scope) => !one.scopes.includes(scope)),
          ),
      );
      if (isEnded || isNarrowed) return 'ended';
      return issuedAt <= forgottenUntil ? 'unknown' : 'good';
    },
  };
}

/** No id of ours has a space. */
const partyKey = (party: string | undefined): string => `scopes ${party ?? ''}`;

const latestOf = ({ endedAt, narrowings }: Entry): number =>
  Math.max(endedAt, narrowings.at(-1)?.at ?? endedAt);

function add(narrowings: readonly Narrowing[], { at, scopes }: Narrowing): readonly Narrowing[] {
  const all = [...narrowings, { at, scopes }].sort((a, b) => a.at - b.at);
  const needed = all.filter(
    (one, index) =>
      !all.slice(index + 1).some((later) => later.scopes.every((scope) => one.scopes.includes(scope))),
  );
  const [first, second, ...rest] = needed;
  if (needed.length <= maxNarrowings || !first || !second) return needed;
  // Stricter than both.
  return [{ at: second.at, scopes: second.scopes.filter((scope) => first.scopes.includes(scope)) }, ...rest];
}

/** What ends for good: no token is issued by it afterwards, so times do not matter. */
const finalIdsOf = ({ jti, chain_id, chain_path, credential_id }: JWTPayload): string[] =>
  texts([jti, chain_id, chain_path, credential_id]);

/** What may be active again, unless its end is permanent. */
function partiesOf(claims: JWTPayload): string[] {
  const { client_id, sub, organization_id } = claims;
  const actors: unknown[] = [];
  // An actor with an issuer is of that issuer, and so are those before it.
  for (let { act } = claims as { act?: unknown }; typeof act === 'object' && act && !('iss' in act); ) {
    actors.push((act as { sub?: unknown }).sub);
    act = (act as { act?: unknown }).act;
  }
  return texts([client_id, sub, organization_id, actors]);
}

const texts = (values: readonly unknown[]): string[] =>
  values.flat().filter((value): value is string => typeof value === 'string');

/** The time of a UUIDv7 has milliseconds. `iat` has none: the beginning of its second counts. */
export function issueTimeOf({ jti, iat = 0 }: JWTPayload): number {
  const [, high, low] =
    /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(String(jti)) ?? [];
  return high && low ? Number.parseInt(high + low, 16) : iat * 1000;
}
