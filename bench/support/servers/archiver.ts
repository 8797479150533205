/**
 * Archives the day of an organization into an empty folder, as a server would tomorrow, and nothing else: so its memory is that of
 * archiving. Prints what it measured as JSON. Arguments: the folder and the organization.
 */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { openAudit } from '../../../src/audit-app.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { createLog } from '../../../src/kernel/observability/log.ts';
import { mainSeconds } from '../cpu-time.ts';

export interface ArchivedDays {
  readonly events: number;
  readonly seconds: number;
  /** Seconds of the main thread on a CPU. */
  readonly mainSeconds: number;
  /** Resident bytes, in the order of the work. */
  readonly memory: readonly number[];
}

/** Some thousand samples for ten million events. */
const restsPerSample = 50;

const [folder = '', organizationId] = process.argv.slice(2);
const { DATABASE_URL = '', JWT_PRIVATE_KEY = '', JWT_PUBLIC_KEY = '' } = process.env;
const { audit, close } = await openAudit({
  database: { url: DATABASE_URL, pooler: 'none' },
  signingKeys: { privateKey: createPrivateKey(JWT_PRIVATE_KEY), publicKey: createPublicKey(JWT_PUBLIC_KEY) },
  previousPublicKeys: [],
  issuer: 'http://localhost:3000',
  witnesses: undefined,
  archive: { url: pathToFileURL(folder).href },
  log: createLog({ level: 'warn', destination: process.stderr }),
  clock: { now: () => systemClock.now() + 86_400_000 },
});
const memory: number[] = [];
let events = 0;
let rests = 0;
let seconds = 0;
let onCpu = 0;
try {
  const started = performance.now();
  const before = mainSeconds();
  await audit.archiving?.round({
    onArchived(row) {
      if (row.organizationId === organizationId) events += row.events;
    },
    onProgress() {
      rests += 1;
      if (rests % restsPerSample === 0) memory.push(process.memoryUsage.rss());
    },
  });
  seconds = (performance.now() - started) / 1_000;
  onCpu = mainSeconds() - before;
} finally {
  await close();
}
console.log(JSON.stringify({ events, seconds, mainSeconds: onCpu, memory } satisfies ArchivedDays));
