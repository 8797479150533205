/**
 * How a connection is made: to an address that was checked, and to no other. The host is either an address, which is
 * checked as it stands, or a name, which is resolved once; if only one of its addresses may not be connected to, none is.
 *
 * A look-up that fails, or finds a private address, is reported `lookupMs` after it began and never before: a tenant that chooses
 * names can measure how long a call takes, and must not learn by it which names exist in our network.
 */
import type { LookupFunction } from 'node:net';
import { isIPv6 } from 'node:net';
import { buildConnector } from 'undici';
import { OutboundProblem } from '../../kernel/ports/outbound.ts';
import { isAddress, isLocalName } from './addresses.ts';
import type { Resolve } from './resolve.ts';

export interface Boundaries {
  readonly resolve: Resolve;
  readonly mayConnect: (address: string) => boolean;
  /** Whether names that only mean something inside a network are looked up. There is nothing to hide then. */
  readonly localNames: boolean;
  readonly pause: Pause;
}

/** Resolves after so long; rejects when the signal is aborted before. */
export type Pause = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

/** How long a look-up may take: more than it needs when the first name server does not answer and the second does. */
const lookupMs = 4_000;

export function createConnector(boundaries: Boundaries, connectTimeoutMs: number): buildConnector.connector {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    // Said outright, so that no environment variable switches it off.
    rejectUnauthorized: true,
    // Both are Node's own options, passed on to its socket. It connects to what this look-up answers.
    ...({ lookup: createLookup(boundaries), autoSelectFamily: true } as object),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    try {
      if (isAddress(host)) refuseUnless(boundaries.mayConnect(host), host);
      else refuseUnless(boundaries.localNames || !isLocalName(host), host);
      connect({ ...options, hostname: host }, callback);
    } catch (error) {
      callback(error as Error, null);
    }
  };
}

/** Node asks once per connection, and not at all about an address. */
function createLookup({ resolve, mayConnect, localNames, pause }: Boundaries): LookupFunction {
  const addressesOf = async (host: string) => {
    const addresses = await resolve(host);
    if (addresses.length === 0) throw new OutboundProblem('unreachable', `${host} has no address`);
    for (const address of addresses) refuseUnless(mayConnect(address), host);
    return addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  };
  const addressesInTime = async (host: string) => {
    const timer = new AbortController();
    const deadline = pause(lookupMs, timer.signal).then(() => {
      throw new OutboundProblem('unreachable', `the look-up of ${host} took longer than ${lookupMs} ms`);
    });
    try {
      const addresses = await Promise.race([addressesOf(host), deadline]);
      timer.abort();
      return addresses;
    } catch (error) {
      if (localNames) timer.abort();
      else await deadline.catch(() => {});
      throw error;
    }
  };
  const wanted = localNames ? 'an address' : 'a public address';
  return (host, options, callback) => {
    addressesInTime(host).then(
      (addresses) => {
        if (options.all) callback(null, addresses);
        else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
      },
      (error) => callback(unresolved(error, `${host} does not resolve to ${wanted}`), options.all ? [] : ''),
    );
  };
}

/** One message, whether a name is unknown or means a machine inside: whoever may choose names must not find out which there are. */
function unresolved(error: Error, message: string): OutboundProblem {
  const reason = error instanceof OutboundProblem ? error.reason : 'unreachable';
  return new OutboundProblem(reason, message, { cause: error, detail: error.message });
}

function refuseUnless(allowed: boolean, host: string): void {
  if (!allowed) throw new OutboundProblem('address', `${host} is not on the public internet`);
}
