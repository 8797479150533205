/** The words of the tree: no vague pronouns, and each mechanism under its standard name. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A sentence with one of these does not name its actor. */
const vague = /\b(?:(?:[Ss]ome|[Aa]ny|[Nn]o)body|(?:[Ww]ho|[Ww]hat)ever)\b/g;

/** Not the migrations, which never change, nor the changelog, which describes earlier versions. */
const patterns = [
  '*.md',
  '{src,bench,test,console/src}/**/*.{ts,tsx}',
  'docs/**/*.md',
  'scaffolds/**/*.{ts,py,go,java,rs,md}',
];
const exempt = /^CHANGELOG\.md$|^test\/fixtures\/|^scaffolds\/(?:[^/]+\/)*(?:node_modules|target|\.venv)\//;

/** Every vague word as `file: word`. */
export function findVagueWords(root: URL): string[] {
  const folder = fileURLToPath(root);
  return globSync(patterns, { cwd: folder })
    .filter((file) => !exempt.test(file))
    .sort()
    .flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(vague)].map(([word]) => `${file}: ${word}`),
    );
}

/** The file that has each mechanism. */
const mechanisms: Readonly<Record<string, string>> = {
  'advisory lock': 'src/kernel/data/locks.ts',
  backpressure: 'src/kernel/concurrency/overloaded.ts',
  batcher: 'src/kernel/concurrency/batcher.ts',
  'circuit breaker': 'src/adapters/kv/redis.ts',
  'clock-skew': 'src/kernel/data/clock-skew-guard.ts',
  'compare-and-swap': 'src/kernel/data/encrypted-column.ts',
  CSRF: 'src/kernel/http/access/session-requests.ts',
  'deep freeze': 'src/kernel/data/deep-freeze.ts',
  'DNS rebinding': 'src/adapters/outbound/connector.ts',
  'domain event': 'src/kernel/domain-event.ts',
  'encryption at rest': 'src/kernel/data/vault.ts',
  'exponential backoff': 'src/adapters/keys/key-sets.ts',
  'fail closed': 'src/kernel/http/guard.ts',
  'fair semaphore': 'src/kernel/concurrency/fair-queue.ts',
  'fencing token': 'src/features/webhooks/delivery/lease-store.ts',
  'fixed-window rate limiter': 'src/kernel/http/rate-window.ts',
  'graceful shutdown': 'src/kernel/lifecycle.ts',
  idempotency: 'src/kernel/http/input/idempotency.ts',
  'invalidating cache': 'src/kernel/data/invalidating-cache.ts',
  'listening socket': 'src/commands/supervise.ts',
  LRU: 'src/kernel/data/lru.ts',
  memoize: 'src/kernel/data/memoize.ts',
  'Merkle tree': 'src/features/audit/chain/merkle.ts',
  outbox: 'src/features/webhooks/delivery/outbox.ts',
  'per-endpoint scheduler': 'src/features/webhooks/delivery/endpoint-scheduler.ts',
  purge: 'src/kernel/data/delete-in-chunks.ts',
  'round-robin': 'src/features/oidc/exchange/round-robin.ts',
  semaphore: 'src/kernel/concurrency/semaphore.ts',
  'single flight': 'src/adapters/keys/key-sets.ts',
  SSRF: 'src/adapters/outbound/connector.ts',
  'subscriber presence': 'src/features/webhooks/subscriptions/presence.ts',
  throttle: 'src/kernel/concurrency/throttle.ts',
  'write-behind': 'src/features/usage/counter.ts',
  'yields to the event loop': 'src/kernel/concurrency/yield.ts',
};

/** The mechanisms whose file does not have their standard name, as `name: file`. */
export function findMissingNames(root: URL): string[] {
  const folder = fileURLToPath(root);
  return Object.entries(mechanisms)
    .filter(
      ([name, file]) => !readFileSync(join(folder, file), 'utf8').toLowerCase().includes(name.toLowerCase()),
    )
    .map(([name, file]) => `${name}: ${file}`);
}
