/** The server at BASE_URL, seen from outside: reachable, the right issuer, our keys, its clock, and the proxy before it. */

import { randomBytes, randomInt } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describePublicKey } from '../../adapters/keys/keys.ts';
import { type Environment, loadVariable } from '../../kernel/config/config.ts';
import { shownAddress } from '../../kernel/config/server-urls.ts';
import { isLoopback } from '../client/http.ts';
import { quoted } from '../terminal.ts';
import {
  type Check,
  clockFinding,
  type Finding,
  ok,
  problem,
  reasonOf,
  runPart,
  skipped,
  warning,
} from './check.ts';
import { type Answer, readJson } from './http.ts';

const name = 'base url';
const proxyName = 'proxy headers';
const unreachableRemedy =
  'start the server, and check the DNS name, the certificate and the proxy of BASE_URL; with --url another address is tested';

export const baseUrlCheck: Check = {
  name,
  remedy: unreachableRemedy,
  async run({ env, options }) {
    const issuer = loadVariable('baseUrl', env) ?? `http://localhost:${loadVariable('port', env)}`;
    const address = (options.url ?? issuer).replace(/\/+$/, '');
    const requestId = `doctor-${randomBytes(8).toString('hex')}`;
    let health: Answer;
    try {
      health = await readJson(`${address}/health`, { 'x-request-id': requestId });
    } catch (error) {
      return [
        problem(name, `${shownAddress(address)} does not answer: ${reasonOf(error)}`, unreachableRemedy),
      ];
    }
    const reached = healthFinding(health, address);
    if (reached.status === 'problem') return [reached];
    const parts: Record<string, () => Promise<Finding> | Finding> = {
      issuer: () => issuerFinding(address, issuer),
      'published keys': () => publishedFinding(address, env),
      'server clock': () => serverClockFinding(health),
      https: () => encryptionFinding(address, health, env),
      'request ids': () => requestIdFinding(health, requestId),
      [proxyName]: () => proxyFinding(address, env),
    };
    const findings = await Promise.all(
      Object.entries(parts).map(([part, work]) => runPart(part, unreachableRemedy, work)),
    );
    return [reached, ...findings.flat()];
  },
};

function healthFinding({ status, headers, body }: Answer, address: string): Finding {
  const shown = shownAddress(address);
  const location = headers.get('location');
  if (status >= 300 && status < 400)
    return problem(
      name,
      `${shown} redirects to ${quoted(location)}`,
      'set BASE_URL to the address that is not redirected',
    );
  if (body?.code === 'SERVICE_UNAVAILABLE')
    return problem(
      name,
      `${shown} answers that it cannot work: ${quoted(body.message)}`,
      'see the log of the server; the other findings may say why',
    );
  const checks = body?.checks as { redis?: unknown } | undefined;
  if (status !== 200 || body?.status !== 'ok' || !checks)
    return problem(
      name,
      `${shown} answers ${status} to /health, but not as Countersign does`,
      'another service answers there: check BASE_URL, and where the proxy sends its requests',
    );
  const audit = body.audit as { status?: unknown } | undefined;
  if (checks.redis !== 'ok')
    return warning(
      name,
      `${shown} answers; the server there cannot reach its Redis`,
      'check REDIS_URL of that server',
    );
  if (audit?.status === 'delayed')
    return warning(
      name,
      `${shown} answers; audit events there are not linked in time`,
      'run a worker: serve without --no-worker, or `countersign worker`',
    );
  return ok(name, `${shown} answers`);
}

async function issuerFinding(address: string, issuer: string): Promise<Finding> {
  const { body } = await readJson(`${address}/.well-known/oauth-authorization-server`);
  return body?.issuer === issuer
    ? ok('issuer', `is BASE_URL, ${issuer}`)
    : problem(
        'issuer',
        `the server at ${shownAddress(address)} is the issuer ${quoted(body?.issuer)}, BASE_URL here is ${issuer}`,
        'set the same BASE_URL on all nodes; tokens of one issuer are refused by the others',
      );
}

async function publishedFinding(address: string, env: Environment): Promise<Finding> {
  const own = await describePublicKey(loadVariable('jwtPublicKey', env));
  const further = await Promise.all(
    (loadVariable('jwtPreviousPublicKeys', env) ?? []).map(describePublicKey),
  );
  const { body } = await readJson(`${address}/.well-known/jwks.json`);
  const published = Array.isArray(body?.keys) ? (body.keys as Record<string, unknown>[]) : [];
  const isPublished = (key: typeof own) =>
    published.some((other) =>
      ['kty', 'n', 'e', 'crv', 'x', 'y'].every(
        (field) => other?.[field] === (key as Record<string, unknown>)[field],
      ),
    );
  const missing = further.filter((key) => !isPublished(key)).map(({ kid }) => kid);
  if (!isPublished(own))
    return problem(
      'published keys',
      `jwks.json at ${shownAddress(address)} lacks the key of JWT_PUBLIC_KEY (kid ${own.kid})`,
      'use the same keys on all nodes. In a rotation, first publish the new key with JWT_PREVIOUS_PUBLIC_KEYS: docs/guides/rotate-credentials-and-keys.md',
    );
  if (missing.length > 0)
    return warning(
      'published keys',
      `jwks.json lacks keys of JWT_PREVIOUS_PUBLIC_KEYS: ${missing.join(', ')}`,
      'use the same JWT_PREVIOUS_PUBLIC_KEYS on all nodes',
    );
  return ok('published keys', `jwks.json has all keys of this configuration (${published.length} published)`);
}

/** The header has whole seconds. */
function serverClockFinding({ headers, sentAt, answeredAt }: Answer): Finding {
  const time = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(time)) return skipped('server clock', 'the answer has no Date header');
  return clockFinding('server clock', time - answeredAt, answeredAt - sentAt + 1_000);
}

function encryptionFinding(address: string, { headers }: Answer, env: Environment): Finding {
  const { protocol, hostname } = new URL(address);
  if (protocol === 'https:')
    return headers.has('strict-transport-security')
      ? ok('https', 'the connection is encrypted, and browsers are told to keep it so (HSTS)')
      : warning(
          'https',
          'the answers have no Strict-Transport-Security',
          'set an https BASE_URL on the server, and let the proxy pass its headers',
        );
  if (isLoopback(hostname)) return ok('https', 'plain http on this machine');
  const remedy = 'put a TLS proxy before the server, and set BASE_URL to its https address';
  const found = `${shownAddress(address)} is plain http: client secrets and tokens can be read on the way`;
  return loadVariable('nodeEnv', env) === 'production'
    ? problem('https', found, remedy)
    : warning('https', found, remedy);
}

function requestIdFinding({ headers }: Answer, sent: string): Finding {
  const received = headers.get('x-request-id');
  if (received === sent) return ok('request ids', 'X-Request-Id arrives at the server and comes back');
  return received === null
    ? warning(
        'request ids',
        'the answers have no X-Request-Id',
        'let the proxy pass it: people who report an error name it',
      )
    : ok('request ids', 'the proxy sets an X-Request-Id of its own');
}

/**
 * Whether clients can choose their own address. Unauthenticated requests are counted per address: if three requests that name
 * three addresses each get a new count, the server believed them.
 */
async function proxyFinding(address: string, env: Environment): Promise<Finding> {
  const trusted = loadVariable('trustProxy', env);
  const believed = await believesForwardedFor(address);
  if (believed === undefined) return skipped(proxyName, 'the answers have no usable X-RateLimit headers');
  if (!believed)
    return trusted
      ? ok(
          proxyName,
          'X-Forwarded-For of a client is not believed. To see that TRUST_PROXY covers your proxy, look at `from=` in `countersign audit tail`: it must not be the address of the proxy',
        )
      : unproxiedFinding(address);
  if (trusted && ownAddresses(address).some((own) => isIn(own, trusted)))
    return skipped(
      proxyName,
      'this machine is in TRUST_PROXY itself; run doctor on another machine to test it',
    );
  return problem(
    proxyName,
    'the server believes the X-Forwarded-For of any client: limits per address can be evaded',
    'let the proxy replace X-Forwarded-For or append to it, and list only the proxy in TRUST_PROXY',
  );
}

const unproxiedFinding = (address: string): Finding =>
  new URL(address).protocol === 'https:'
    ? warning(
        proxyName,
        'TLS ends at a proxy, and TRUST_PROXY is not set: all unauthenticated clients share one rate limit, and the audit log has the address of the proxy',
        'set TRUST_PROXY to the address of the proxy',
      )
    : ok(proxyName, 'no proxy is trusted (TRUST_PROXY is not set), and X-Forwarded-For is ignored');

async function believesForwardedFor(address: string): Promise<boolean | undefined> {
  const counts: { limit: number; remaining: number }[] = [];
  for (let request = 0; request < 3; request += 1) {
    // The range for benchmarks (RFC 2544): no client has such an address.
    const forwarded = `198.18.${randomInt(256)}.${randomInt(1, 255)}`;
    const { status, headers } = await readJson(`${address}/health`, { 'x-forwarded-for': forwarded });
    const limit = Number(headers.get('x-ratelimit-limit') ?? Number.NaN);
    const remaining = Number(headers.get('x-ratelimit-remaining') ?? Number.NaN);
    if (status === 429 || Number.isNaN(limit) || Number.isNaN(remaining)) return undefined;
    counts.push({ limit, remaining });
  }
  return counts.every(({ limit, remaining }) => remaining === limit - 1);
}

/** The addresses from which a request of this machine to that address may come. */
const ownAddresses = (address: string): string[] =>
  Object.values(networkInterfaces())
    .flatMap((interfaces) => interfaces ?? [])
    .filter(({ internal }) => internal === isLoopback(new URL(address).hostname))
    .map((each) => each.address);

function isIn(address: string, networks: readonly string[]): boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [base = '', bits] = network.split('/');
    const family = isIP(base) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(base, family);
    else list.addSubnet(base, Number(bits), family);
  }
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}
