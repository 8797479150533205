/** The app in the process of the bench, for measurements without a socket. */
import { type App, createApp } from '../../src/app.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { createLog } from '../../src/kernel/observability/log.ts';
import type { KeyPems } from './serving.ts';

export async function openApp(
  databaseUrl: string,
  keys: KeyPems = generateKeyPair(),
  { variables = {}, ...options }: { variables?: Record<string, string>; clock?: Clock } = {},
): Promise<App> {
  const config = loadConfig({
    ...variables,
    DATABASE_URL: databaseUrl,
    REDIS_URL: 'memory://',
    JWT_PRIVATE_KEY: keys.privatePem,
    JWT_PUBLIC_KEY: keys.publicPem,
    RATE_LIMIT_PER_MINUTE: '1000000000',
  });
  const app = await createApp({ config, log: createLog({ level: 'warn' }), ...options });
  await app.prepare();
  return app;
}
