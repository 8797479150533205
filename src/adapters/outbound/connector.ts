/**
 * The SSRF guard of outgoing calls: connects only to an address that was checked. A literal address is checked as it stands. A name
 * is resolved once, so DNS rebinding cannot change the address after the check. If one of its addresses is not allowed, none is used.
 *
 * A lookup that fails or finds a private address is reported exactly `lookupTimeoutMs` after it began: a tenant that chooses names
 * can measure the duration of a call, and must not learn from it which names exist in our network.
 */
import type { LookupFunction } from 'node:net';
import { isIPv6 } from 'node:net';
import { buildConnector } from 'undici';
import { OutboundProblem } from '../../kernel/ports/outbound.ts';
import { isAddress, isLocalName } from './addresses.ts';
import type { Resolve } from './resolve.ts';

interface ConnectionPolicy {
  readonly resolve: Resolve;
  readonly mayConnect: (address: string) => boolean;
  /** Also looks up names that are local to a network; then there is nothing to hide. */
  readonly localNames: boolean;
  readonly delay: Delay;
}

/** Resolves after this time; rejects when the signal is aborted first. */
export type Delay = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

/** Long enough for a first name server that does not answer and a second one that does. */
const lookupTimeoutMs = 4_000;

export function createConnector(
  policy: ConnectionPolicy,
  connectTimeoutMs: number,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    // Explicit, so that no environment variable can disable it.
    rejectUnauthorized: true,
    // Options of Node's socket, which connects to the result of this lookup.
    ...({ lookup: createLookup(policy), autoSelectFamily: true } as object),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    try {
      if (isAddress(host)) refuseUnless(policy.mayConnect(host), host);
      else refuseUnless(policy.localNames || !isLocalName(host), host);
      connect({ ...options, hostname: host }, callback);
    } catch (error) {
      callback(error as Error, null);
    }
  };
}

/** Node calls it once per connection, and not for a literal address. */
function createLookup({ resolve, mayConnect, localNames, delay }: ConnectionPolicy): LookupFunction {
  const addressesOf = async (host: string) => {
    const addresses = await resolve(host);
    if (addresses.length === 0) throw new OutboundProblem('unreachable', `${host} has no address`);
    for (const address of addresses) refuseUnless(mayConnect(address), host);
    return addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  };
  const addressesWithTimeout = async (host: string) => {
    const timer = new AbortController();
    const timeout = delay(lookupTimeoutMs, timer.signal).then(() => {
      throw new OutboundProblem(
        'unreachable',
        `the lookup of ${host} took longer than ${lookupTimeoutMs} ms`,
      );
    });
    try {
      const addresses = await Promise.race([addressesOf(host), timeout]);
      timer.abort();
      return addresses;
    } catch (error) {
      if (localNames) timer.abort();
      else await timeout.catch(() => {});
      throw error;
    }
  };
  const expected = localNames ? 'an address' : 'a public address';
  return (host, options, callback) => {
    addressesWithTimeout(host).then(
      (addresses) => {
        if (options.all) callback(null, addresses);
        else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
      },
      (error) =>
        callback(unresolved(error, `${host} does not resolve to ${expected}`), options.all ? [] : ''),
    );
  };
}

/** The same message for an unknown name and for a private address: a tenant must not learn which names exist in our network. */
function unresolved(error: Error, message: string): OutboundProblem {
  const reason = error instanceof OutboundProblem ? error.reason : 'unreachable';
  return new OutboundProblem(reason, message, { cause: error, detail: error.message });
}

function refuseUnless(allowed: boolean, host: string): void {
  if (!allowed) throw new OutboundProblem('address', `${host} is not on the public internet`);
}
