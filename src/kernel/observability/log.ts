/** Logging by pino, as JSON lines on standard output. Secrets are redacted by field name. */
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { hidePasswordParameters } from '../config/server-urls.ts';
import { tracer } from './tracing.ts';

export type Log = Logger;

const secretNames = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'clientSecret',
  'client_secret',
  'client_assertion',
  'subject_token',
  'token',
  'access_token',
  'accessToken',
  'delegationToken',
  'signingSecret',
  'privateKey',
  'databaseUrl',
  'databaseDirectUrl',
  'redisUrl',
  'natsUrl',
  'smtpUrl',
  'auth_req_id',
  'client_notification_token',
  'refresh_token',
  'kafkaSaslPassword',
  'dataEncryptionKey',
  'dataEncryptionPreviousKeys',
  'metricsToken',
  'jwtPrivateKey',
  'auditLogKey',
  'consoleOidcClientSecret',
  'stripeSecretKey',
  'stripeWebhookSecret',
];

/** pino's wildcards match one level each, so every name is listed for the first four levels. */
const redactPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]);

/** `postgres://user:password@host` inside an error message must not reach the log either. */
const hideUrlPasswords = (text: string) =>
  hidePasswordParameters(text.replace(/(\w+:\/\/[^\s:/@]*):[^\s/@]+@/g, '$1:***@'));

export function createLog(options: {
  level: string;
  destination?: DestinationStream;
  /** Adds the ids of the current trace to each line. */
  traceIds?: boolean;
}): Log {
  return pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      // pino writes into the object that it gets.
      ...(options.traceIds && { mixin: () => ({ ...tracer?.current()?.ids }) }),
      redact: { paths: redactPaths, censor: '[redacted]' },
      serializers: {
        reason: (text: unknown) => (typeof text === 'string' ? hideUrlPasswords(text) : text),
        err(error: unknown) {
          // Any value can be thrown; logging it must not fail.
          if (!(error instanceof Error)) return hideUrlPasswords(String(error));
          const plain = stdSerializers.err(error);
          return { ...plain, message: hideUrlPasswords(plain.message), stack: hideUrlPasswords(plain.stack) };
        },
      },
    },
    options.destination ?? pino.destination({ fd: 1, sync: true }),
  );
}
