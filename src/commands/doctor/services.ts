/** The services beside PostgreSQL: Redis, Kafka, NATS, Stripe and the OpenID provider, where they are configured. */

import type { RedisFacts } from '../../adapters/kv/redis-probe.ts';
import { webhookEvents } from '../../contract/events.ts';
import { loadVariable } from '../../kernel/config/config.ts';
import { shownAddress } from '../../kernel/config/server-urls.ts';
import { type Check, clockFinding, type Finding, ok, problem, reasonOf, skipped, warning } from './check.ts';
import { readJson } from './http.ts';

/** The version of our tests. */
const testedRedis = 7;
const redisTimeoutMs = 3_000;
const redisRemedy =
  'check REDIS_URL, that Redis runs and accepts connections from this machine, and the password. Without Redis, the server counts limits in each process';

export const redisCheck: Check = {
  name: 'redis',
  remedy: redisRemedy,
  async run({ env }) {
    const url = loadVariable('redisUrl', env);
    if (url.startsWith('memory:'))
      return [
        loadVariable('nodeEnv', env) === 'production'
          ? warning(
              'redis',
              'REDIS_URL=memory:// counts limits in one process',
              'use a Redis, unless this is the only process',
            )
          : ok('redis', 'REDIS_URL=memory://: for a single process'),
      ];
    const { probeRedis, findUnreachableSentinels } = await import('../../adapters/kv/redis-probe.ts');
    const [servers, unreachable] = await Promise.all([
      probeRedis(url, redisTimeoutMs).catch((error: unknown) => ({ error })),
      findUnreachableSentinels(url, redisTimeoutMs),
    ]);
    const sentinels = unreachable.map(({ address, reason }) =>
      warning(
        'redis sentinel',
        `${address} does not answer as a sentinel: ${reasonOf(new Error(reason))}`,
        'start it, or correct REDIS_URL: a failover needs a majority of the sentinels',
      ),
    );
    if ('error' in servers) return [problem('redis', reasonOf(servers.error), redisRemedy), ...sentinels];
    const clocks = servers.map(({ time, answeredAt, roundTripMs }) =>
      clockFinding('redis clock', time - answeredAt, roundTripMs + 50),
    );
    return [
      worst(servers.map((facts) => redisFinding(facts, url, servers.length))),
      ...sentinels,
      worst(clocks),
    ];
  },
};

const severity = ['problem', 'warning', 'skipped', 'ok'];

const worst = (findings: readonly Finding[]): Finding => {
  const [first] = findings.toSorted((a, b) => severity.indexOf(a.status) - severity.indexOf(b.status));
  if (!first) throw new Error('nothing was checked');
  return first;
};

function redisFinding(facts: RedisFacts, url: string, servers: number): Finding {
  const { version, isReplica, maxMemoryBytes, evictionPolicy } = facts;
  const shards = servers > 1 ? `, ${servers} shards` : '';
  const found = `Redis ${version ?? '(version not shown)'} at ${shownAddress(url)}${shards}`;
  if (isReplica)
    return problem(
      'redis',
      `${found}; it is a replica`,
      'use the address of the primary: a replica accepts no writes',
    );
  if (version !== undefined && Number.parseInt(version, 10) < testedRedis)
    return warning(
      'redis',
      `${found}; Countersign is tested with ${testedRedis}`,
      `upgrade Redis to ${testedRedis} or newer`,
    );
  if (maxMemoryBytes > 0 && evictionPolicy === 'noeviction')
    return warning(
      'redis',
      `${found}; when its memory is full it refuses writes (maxmemory-policy noeviction)`,
      'set maxmemory-policy to volatile-ttl: all our keys expire',
    );
  return ok('redis', found);
}

export const kafkaCheck: Check = {
  name: 'kafka',
  remedy: 'check KAFKA_BROKERS, KAFKA_SSL and KAFKA_SASL_*; until then events wait in the database',
  async run({ env }) {
    const brokers = loadVariable('kafkaBrokers', env);
    if (!brokers) return [skipped('kafka', 'not configured')];
    const { probeKafka } = await import('../../adapters/brokers/broker-probes.ts');
    const ca = loadVariable('kafkaSslCa', env);
    const mechanism = loadVariable('kafkaSaslMechanism', env);
    const username = loadVariable('kafkaSaslUsername', env);
    const password = loadVariable('kafkaSaslPassword', env);
    const topics = await probeKafka({
      brokers,
      topicPrefix: loadVariable('kafkaTopicPrefix', env),
      tls: loadVariable('kafkaSsl', env) ? { ...(ca && { ca }) } : undefined,
      sasl: mechanism && username && password ? { mechanism, username, password } : undefined,
    });
    return [
      ok(
        'kafka',
        `the brokers answer; ${topics.length} topics with our prefix${topics.length < webhookEvents.length ? ', the others are made with the first event, if the cluster allows it' : ''}`,
      ),
    ];
  },
};

export const natsCheck: Check = {
  name: 'nats',
  remedy: 'check NATS_URL and NATS_CA, and that JetStream is enabled; until then events wait in the database',
  async run({ env }) {
    const urls = loadVariable('natsUrl', env);
    if (!urls) return [skipped('nats', 'not configured')];
    const { probeNats } = await import('../../adapters/brokers/broker-probes.ts');
    const subjectPrefix = loadVariable('kafkaTopicPrefix', env);
    const stream = await probeNats({ urls, subjectPrefix, ca: loadVariable('natsCa', env) });
    return [
      ok(
        'nats',
        stream === undefined
          ? `the server answers; the stream for ${subjectPrefix}.> is made with the first event`
          : `the server answers; the stream ${stream} takes ${subjectPrefix}.>`,
      ),
    ];
  },
};

export const stripeCheck: Check = {
  name: 'stripe',
  remedy: 'check STRIPE_SECRET_KEY, and that this machine may reach the API of Stripe',
  async run({ env }) {
    const secretKey = loadVariable('stripeSecretKey', env);
    if (!secretKey) return [skipped('stripe', 'not configured')];
    const { findPriceProblem } = await import('../../adapters/stripe/stripe.ts');
    const apiUrl = loadVariable('stripeApiUrl', env);
    const prices = {
      STRIPE_PRICE_PRO: loadVariable('stripePricePro', env),
      STRIPE_PRICE_ENTERPRISE: loadVariable('stripePriceEnterprise', env),
    };
    const findings = await Promise.all(
      Object.entries(prices).map(async ([variable, price]) => {
        const reason =
          price === undefined ? 'it is missing' : await findPriceProblem({ secretKey, apiUrl }, price);
        return reason === undefined
          ? ok('stripe', `the price in ${variable} is active`)
          : problem(
              'stripe',
              `the price in ${variable} cannot be read: ${reason}`,
              `check STRIPE_SECRET_KEY and ${variable} in the dashboard of Stripe`,
            );
      }),
    );
    return findings;
  },
};

export const providerCheck: Check = {
  name: 'sign-in provider',
  remedy: 'check CONSOLE_OIDC_ISSUER, and that this machine may reach it',
  async run({ env }) {
    const name = 'sign-in provider';
    const issuer = loadVariable('consoleOidcIssuer', env);
    if (!issuer) return [skipped(name, 'not configured')];
    const { body } = await readJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`).catch(
      (error) => {
        throw new Error(`${shownAddress(issuer)} does not answer: ${reasonOf(error)}`);
      },
    );
    return [
      body?.issuer === issuer
        ? ok(name, `${shownAddress(issuer)} answers, and is the issuer`)
        : problem(
            name,
            `${shownAddress(issuer)} says that its issuer is ${JSON.stringify(body?.issuer ?? null)}`,
            'set CONSOLE_OIDC_ISSUER to exactly that value',
          ),
    ];
  },
};
