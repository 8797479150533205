/** Which test files run, and in which order. */
import { globSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/**
 * The slowest files, slowest first, as the summary of a run lists them. They start first, each in a process of its own, so that
 * none runs alone at the end. A quick run leaves them out.
 */
const slowest = [
  'test/deploy/container.test.ts',
  'test/deploy/package.test.ts',
  'test/openapi/fuzz.test.ts',
  'test/deploy/proxies.test.ts',
  'test/clients/protected-apis.test.ts',
  'test/clients/recipes.test.ts',
  'test/clients/keycloak.test.ts',
  'test/clients/mcp-conformance-client.test.ts',
  'test/matrix/matrix.test.ts',
  'test/scaffold/rust.test.ts',
  'test/console/foundation.test.ts',
  'test/console/every-page.test.ts',
  'test/console/audit.test.ts',
  'test/console/apis.test.ts',
  'test/console/overview.test.ts',
  'test/console/agents.test.ts',
  'test/console/webhooks.test.ts',
  'test/console/delegations.test.ts',
  'test/console/trust.test.ts',
  'test/console/organization.test.ts',
  'test/console/agent.test.ts',
  'test/console/sign-in-oidc.test.ts',
  'test/console/hostile-pages.test.ts',
  'test/console/every-page-hostile.test.ts',
  'test/console/marketplace.test.ts',
  'test/console/usage.test.ts',
  'test/faults/unread-responses.test.ts',
  'test/deploy/monitoring.test.ts',
  'test/processes/supervise-ends.test.ts',
  'test/processes/supervise.test.ts',
  'test/processes/signals-three-apis.test.ts',
  'test/faults/audit-killed.test.ts',
  'test/processes/upgrade.test.ts',
  'test/processes/key-rotation.test.ts',
  'test/deploy/backup.test.ts',
  'test/processes/encryption-key-rotation.test.ts',
  'test/processes/dev.test.ts',
  'test/faults/streams-killed.test.ts',
  'test/scaffold/java.test.ts',
  'test/scaffold/python.test.ts',
  'test/sdk/python.test.ts',
  'test/scaffold/typescript.test.ts',
  'test/openapi/lint.test.ts',
  'test/openapi/reference-page.test.ts',
  'test/faults/archive-killed.test.ts',
  'test/faults/webhooks-killed.test.ts',
  'test/audit-trail.test.ts',
  'sdk/typescript/test/package.test.ts',
  'test/processes/commands.test.ts',
  'test/faults/plan-limits-two-processes.test.ts',
  'test/faults/postgres-unavailable.test.ts',
  'test/faults/redis-unavailable.test.ts',
  'test/faults/redis-token-status.test.ts',
  'test/clients/event-source.test.ts',
  'src/features/events/stream-end.test.ts',
  'src/features/events/events.test.ts',
  'test/processes/shutdown.test.ts',
  'src/adapters/embedded-postgres/embedded-postgres.test.ts',
  'src/adapters/brokers/brokers.test.ts',
  'src/adapters/object-storage/s3.test.ts',
  'src/features/streams/streams.test.ts',
  'src/features/audit/verify/tamper.test.ts',
  'src/features/scaffold/scaffold.test.ts',
  'src/kernel/http/connections/unread-responses.test.ts',
  'src/features/webhooks/replays/replays.test.ts',
  'src/adapters/outbound/outbound.test.ts',
  'src/kernel/http/input/allowed-methods.test.ts',
];

/** `npm run test:all` runs these, not `npm test`. */
const extended = new Set([
  // Install packages or use other compilers.
  'sdk/typescript/test/package.test.ts',
  'sdk/typescript/test/transparency/go.test.ts',
  'test/clients/agent-access-python.test.ts',
  'test/clients/mcp-conformance-client.test.ts',
  'test/clients/mcp-conformance.test.ts',
  'test/clients/mcp-server-conformance.test.ts',
  'test/clients/mcp-server-python.test.ts',
  'test/clients/protected-apis.test.ts',
  'test/clients/recipes.test.ts',
  'test/clients/transparency-dev.test.ts',
  'test/deploy/container.test.ts',
  'test/deploy/package.test.ts',
  'test/deploy/release-build.test.ts',
  'test/scaffold/escapers.test.ts',
  'test/scaffold/go.test.ts',
  'test/scaffold/java.test.ts',
  'test/scaffold/python.test.ts',
  'test/scaffold/rust.test.ts',
  'test/scaffold/typescript.test.ts',
  'test/sdk/python.test.ts',
  'test/processes/signals-three-apis.test.ts',
  // Need brokers, proxies, poolers or other servers.
  'test/clients/keycloak.test.ts',
  'src/adapters/brokers/brokers.test.ts',
  'src/adapters/object-storage/s3.test.ts',
  'src/features/audit/archive/s3-round.test.ts',
  'test/clients/prove-guide-bucket.test.ts',
  'src/features/streams/streams.test.ts',
  'test/deploy/compose-kafka.test.ts',
  'test/deploy/compose-run.test.ts',
  'test/deploy/doctor.test.ts',
  'test/deploy/forward-auth.test.ts',
  'test/deploy/hardening.test.ts',
  'test/deploy/monitoring.test.ts',
  'test/deploy/pgbouncer.test.ts',
  'test/deploy/proxies.test.ts',
  'test/faults/streams-killed.test.ts',
  'test/openapi/fuzz.test.ts',
  // Clusters and their failover.
  'src/adapters/kv/redis-failover.test.ts',
  'src/adapters/postgres/hosts.test.ts',
  'test/deploy/helm-pods.test.ts',
  'test/deploy/postgres-failover.test.ts',
  'test/deploy/redis-failover.test.ts',
  // More ways in which several processes end, and outages of trace collectors.
  'test/processes/supervise-ends.test.ts',
  'test/processes/tracing-collectors.test.ts',
  // Upgrades, restores and rotations of keys under load.
  'src/features/audit/chain/moved.test.ts',
  'test/deploy/backup.test.ts',
  'test/processes/encryption-key-rotation.test.ts',
  'test/processes/key-rotation.test.ts',
  'test/processes/upgrade.test.ts',
]);

/** Both commands run these: `npm run test:all` with many repetitions. */
const repeated = new Set([
  'sdk/typescript/test/transparency/proofs.test.ts',
  'src/features/audit/chain/keys/rotation.test.ts',
  'src/features/audit/verify/tamper.test.ts',
  'sdk/typescript/test/fast-link-parser.test.ts',
  'src/features/delegation/random-trees.test.ts',
  'src/features/delegation/resource-trees.test.ts',
  'src/features/resources/random-grants.test.ts',
  'src/features/resources/random-tokens.test.ts',
  'src/features/tokens/assertion.test.ts',
  'test/faults/archive-killed.test.ts',
  'test/faults/audit-killed.test.ts',
  'test/faults/webhooks-killed.test.ts',
  'test/races.test.ts',
]);

export const isSlow = (file: string): boolean => slowest.includes(file);

const all = () =>
  globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'sdk/typescript/test/**/*.test.ts']).sort();

const rules = ['test/architecture.test.ts', 'test/contract.test.ts', 'test/generated.test.ts'];

/** `src/features/agents/agents.test.ts`: the main operations of a feature over HTTP, or an adapter as it is used. */
const isMain = (file: string) => dirname(file).split('/').includes(basename(file, '.test.ts'));

/** Not in a quick run either: each takes five seconds or more beside three others. */
const long = new Set([
  'src/adapters/kv/kv.test.ts',
  'src/adapters/object-storage/object-storage.test.ts',
  'src/adapters/postgres/postgres.test.ts',
  'src/adapters/stripe/stripe.test.ts',
  'src/features/access/access.test.ts',
  'src/features/audit/chain/chain.test.ts',
  'src/features/audit/export/export.test.ts',
  'src/features/audit/proof/proof.test.ts',
  'src/features/billing/billing.test.ts',
  'src/features/compliance/compliance.test.ts',
  'src/features/console/codes/codes.test.ts',
  'src/features/console/oidc/oidc.test.ts',
  'src/features/did/did.test.ts',
  'src/features/encryption/encryption.test.ts',
  'src/features/marketplace/marketplace.test.ts',
  'src/features/overview/overview.test.ts',
  'src/features/tokens/preview/preview.test.ts',
  'src/features/usage/usage.test.ts',
  'src/features/webhooks/subscriptions/subscriptions.test.ts',
  'src/features/workload-identity/exchange/exchange.test.ts',
  'src/features/workload-identity/policies/policies.test.ts',
  'src/kernel/http/guard.test.ts',
  'src/kernel/http/input/input.test.ts',
  'src/kernel/http/server.test.ts',
]);

/** For the inner loop: the rules of the tree, the kernel, and the main file of each feature and adapter. */
const isQuick = (file: string) =>
  rules.includes(file) ||
  ((file.startsWith('src/kernel/') || (file.startsWith('src/') && isMain(file))) &&
    !isSlow(file) &&
    !long.has(file));

/** For the test that they exist. */
export const listedFiles: readonly string[] = [...slowest, ...extended, ...repeated, ...rules, ...long];

/** `--quick`, `--extended`, or the files to run; without any, all that `npm test` runs. */
export function selectFiles(args: readonly string[]): string[] {
  return select(args).toSorted((a, b) => rank(a) - rank(b));
}

function select(args: readonly string[]): readonly string[] {
  const files = args.filter((arg) => !arg.startsWith('--'));
  if (files.length > 0) return files;
  if (args.includes('--quick')) return all().filter(isQuick);
  return all().filter((file) =>
    args.includes('--extended') ? extended.has(file) || repeated.has(file) : !extended.has(file),
  );
}

const rank = (file: string) => (isSlow(file) ? slowest.indexOf(file) : slowest.length);
