/** Chooses and opens adapters as the configuration says. A driver is loaded only when it is configured. */

import { createOpenIdProvider } from '../adapters/openid-connect.ts';
import { createOutbound } from '../adapters/outbound/outbound.ts';
import { createEventReader, createStripe } from '../adapters/stripe/stripe.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Config } from '../kernel/config/config.ts';
import type { Db } from '../kernel/data/db.ts';
import type { Log } from '../kernel/observability/log.ts';
import type { Broker, StreamName } from '../kernel/ports/broker.ts';
import type { Kv } from '../kernel/ports/kv.ts';
import type { Mailer } from '../kernel/ports/mail.ts';
import type { OpenIdProvider, ProviderSettings } from '../kernel/ports/openid-provider.ts';
import type { Outbound } from '../kernel/ports/outbound.ts';

export async function openKv(url: string, memory: Kv, log: Log): Promise<Kv> {
  if (url.startsWith('memory:')) return memory;
  const { createRedisKv } = await import('../adapters/kv/redis.ts');
  return createRedisKv(url, log);
}

/** The configuration has all Stripe variables or none. */
export function openStripe(config: Config, clock: Clock) {
  const { stripeSecretKey, stripeWebhookSecret, stripePricePro, stripePriceEnterprise, baseUrl } = config;
  if (!stripeSecretKey || !stripeWebhookSecret || !stripePricePro || !stripePriceEnterprise) return undefined;
  const prices = { pro: stripePricePro, enterprise: stripePriceEnterprise };
  const returnUrl = `${baseUrl}/billing/return`;
  return {
    provider: createStripe({
      secretKey: stripeSecretKey,
      prices,
      returnUrl,
      apiUrl: config.stripeApiUrl,
      clock,
    }),
    readEvent: createEventReader({ secret: stripeWebhookSecret, prices, clock }),
  };
}

/** Undefined when no mail server is configured: the driver is not even loaded. The configuration has both variables or none. */
export async function openMailer({ smtpUrl: server, mailFrom: from }: Config): Promise<Mailer | undefined> {
  if (!server || !from) return undefined;
  const { createMailer } = await import('../adapters/mail.ts');
  return createMailer({ server, from });
}

const redirectUri = ({ baseUrl }: Config): string => `${baseUrl}/console/api/oidc/callback`;

/** The configuration has all variables of the provider or none. The operator has chosen it, so its address may be private. */
export function openProvider(
  config: Config,
  clock: Clock,
): (OpenIdProvider & { close(): Promise<void> }) | undefined {
  const { consoleOidcIssuer: issuer, consoleOidcClientId: clientId, consoleOidcName: name } = config;
  const clientSecret = config.consoleOidcClientSecret;
  if (!issuer || !clientId || !clientSecret) return undefined;
  const outbound = createOutbound({ allowPrivate: true });
  const settings = { issuer, clientId, clientSecret, name: name ?? new URL(issuer).host, scopes: ['openid'] };
  return {
    ...createOpenIdProvider(settings, { outbound, clock, redirectUri: redirectUri(config) }),
    close: () => outbound.close(),
  };
}

/** For the providers that organizations choose: the outbound client decides on private addresses. */
export const createOpenProvider =
  (config: Config, clock: Clock, outbound: Outbound) =>
  (settings: ProviderSettings): OpenIdProvider =>
    createOpenIdProvider(settings, { outbound, clock, redirectUri: redirectUri(config) });

/** Undefined when no broker is configured: neither a driver is loaded nor the outbox written. */
export async function openStreaming(
  config: Config,
  openSeparatePool: (poolSize: number) => Db,
): Promise<{ brokers: Partial<Record<StreamName, Broker>>; db: Db } | undefined> {
  const { kafkaBrokers, natsUrl } = config;
  if (!kafkaBrokers && !natsUrl) return undefined;
  const brokers = {
    ...(kafkaBrokers && { kafka: await openKafka(config, kafkaBrokers) }),
    ...(natsUrl && { nats: await openNats(config, natsUrl) }),
  };
  return { brokers, db: openSeparatePool(Object.keys(brokers).length + 1) };
}

async function openNats(config: Config, urls: NonNullable<Config['natsUrl']>): Promise<Broker> {
  const { createNatsBroker } = await import('../adapters/brokers/nats.ts');
  return createNatsBroker({ urls, subjectPrefix: config.kafkaTopicPrefix, ca: config.natsCa });
}

async function openKafka(config: Config, brokers: NonNullable<Config['kafkaBrokers']>): Promise<Broker> {
  const { createKafkaBroker } = await import('../adapters/brokers/kafka.ts');
  const { kafkaSaslMechanism: mechanism, kafkaSaslUsername: username, kafkaSaslPassword: password } = config;
  return createKafkaBroker({
    brokers,
    topicPrefix: config.kafkaTopicPrefix,
    tls: config.kafkaSsl ? { ...(config.kafkaSslCa && { ca: config.kafkaSslCa }) } : undefined,
    sasl: mechanism && username && password ? { mechanism, username, password } : undefined,
  });
}
