/**
 * The addresses of a name. The name servers are asked directly, since the system's own look-up (getaddrinfo) keeps a
 * thread busy until it has an answer: a few names whose servers never answer would hold up everybody else's. It is asked for
 * what they do not know, such as the names in /etc/hosts.
 */
import { lookup, Resolver } from 'node:dns/promises';

export type Resolve = (name: string) => Promise<readonly string[]>;

/** Answers, not failures: there is nothing of that kind under this name, or there is no name server here at all. */
const nothing = new Set(['ENOTFOUND', 'ENODATA']);
const noServer = new Set(['ECONNREFUSED', 'EREFUSED']);

export function createResolve(resolver = new Resolver({ timeout: 2_000, tries: 2 })): Resolve {
  const ask = async (question: Promise<string[]>): Promise<string[] | undefined> => {
    try {
      return await question;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (nothing.has(code)) return [];
      if (noServer.has(code)) return undefined;
      throw error;
    }
  };

  const look = async (name: string): Promise<readonly string[]> => {
    const [ipv4, ipv6] = await Promise.all([ask(resolver.resolve4(name)), ask(resolver.resolve6(name))]);
    const addresses = [...(ipv4 ?? []), ...(ipv6 ?? [])];
    if (addresses.length > 0 && ipv4 && ipv6) return addresses;
    return (await lookup(name, { all: true })).map(({ address }) => address);
  };

  /** Whoever asks for a name that is being asked for waits for the same answer: a burst to one host is one question. */
  const asking = new Map<string, Promise<readonly string[]>>();
  return (name) => {
    const under = asking.get(name);
    if (under) return under;
    const answer = look(name).finally(() => asking.delete(name));
    asking.set(name, answer);
    return answer;
  };
}
