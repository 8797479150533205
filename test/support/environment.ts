/** The services and variables that the tests need: a PostgreSQL of their own with a migrated template database, and a key pair. */
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { createLog } from '../../src/kernel/observability/log.ts';

export async function startTestEnvironment(folder: string) {
  // Without fsync only a machine crash loses data, and the tests are twice as fast.
  const postgres = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    database: 'template_countersign',
    settings: { fsync: 'off', max_connections: '200' },
  });
  return {
    stop: () => postgres.stop(),
    /** Migrates the template database. */
    async prepare() {
      const { privatePem, publicPem } = generateKeyPair();
      const config = loadConfig({
        DATABASE_URL: postgres.url,
        REDIS_URL: 'memory://',
        JWT_PRIVATE_KEY: privatePem,
        JWT_PUBLIC_KEY: publicPem,
      });
      const app = await createApp({ config, log: createLog({ level: 'warn' }) });
      await app.prepare();
      await app.close();
      return {
        TEST_POSTGRES_URL: postgres.url,
        TEST_PRIVATE_KEY: privatePem,
        TEST_PUBLIC_KEY: publicPem,
        NODE_ENV: 'test',
      };
    },
  };
}
