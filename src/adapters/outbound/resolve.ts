/**
 * Resolves a name to its addresses. It queries the name servers directly, since getaddrinfo blocks a thread until it has an
 * answer: a few names whose servers never answer would block all other lookups. getaddrinfo is the fallback for names that the
 * servers do not know, such as those in /etc/hosts.
 */
import { lookup, Resolver } from 'node:dns/promises';

export type Resolve = (name: string) => Promise<readonly string[]>;

/** Answers rather than failures: no record of this type; no name server at all. */
const noRecord = new Set(['ENOTFOUND', 'ENODATA']);
const noServer = new Set(['ECONNREFUSED', 'EREFUSED']);

export const createResolver = (): Resolver => new Resolver({ timeout: 2_000, tries: 2 });

/** The TXT records of a name. */
export async function resolveText(resolver: Resolver, name: string): Promise<string[]> {
  try {
    return (await resolver.resolveTxt(name)).map((parts) => parts.join(''));
  } catch (error) {
    if (noRecord.has((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

export function createResolve(resolver = createResolver()): Resolve {
  const answerOf = async (query: Promise<string[]>): Promise<string[] | undefined> => {
    try {
      return await query;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (noRecord.has(code)) return [];
      if (noServer.has(code)) return undefined;
      throw error;
    }
  };

  const lookUp = async (name: string): Promise<readonly string[]> => {
    const [ipv4, ipv6] = await Promise.all([
      answerOf(resolver.resolve4(name)),
      answerOf(resolver.resolve6(name)),
    ]);
    const addresses = [...(ipv4 ?? []), ...(ipv6 ?? [])];
    if (addresses.length > 0 && ipv4 && ipv6) return addresses;
    return (await lookup(name, { all: true })).map(({ address }) => address);
  };

  /** Lookups in flight: concurrent lookups of one name share one query. */
  const inFlight = new Map<string, Promise<readonly string[]>>();
  return (name) => {
    const pending = inFlight.get(name);
    if (pending) return pending;
    const answer = lookUp(name).finally(() => inFlight.delete(name));
    inFlight.set(name, answer);
    return answer;
  };
}
