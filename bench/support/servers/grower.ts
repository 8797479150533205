/**
 * Lets the instance log grow, or has a round of its witnesses, when the bench asks for it, and nothing else. It answers with the
 * microseconds of CPU time of this process. Each call is a second after the one before, for the interval of the rounds.
 */
import { openApp } from '../in-process.ts';

const { DATABASE_URL = '', JWT_PRIVATE_KEY = '', JWT_PUBLIC_KEY = '', ...variables } = process.env;
let ahead = 0;
const app = await openApp(
  DATABASE_URL,
  { privatePem: JWT_PRIVATE_KEY, publicPem: JWT_PUBLIC_KEY },
  { variables: variables as Record<string, string>, clock: { now: () => Date.now() + ahead } },
);

process.on('message', async (work: 'grow' | 'witness') => {
  ahead += 1_000;
  const before = process.cpuUsage();
  const outcome = work === 'grow' ? await app.instanceLog.grow() : await app.instanceLog.witness();
  const { user, system } = process.cpuUsage(before);
  process.send?.({ outcome: outcome ?? 'done', microseconds: user + system });
});
process.send?.('ready');
