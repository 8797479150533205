/**
 * Writes `webhooks` and `auditExports` of sdk/vectors.json. The audit exports come from a real server on a temporary PostgreSQL,
 * with keys made for this run; `npm run token-cases` writes the rest of the file.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createStatementReader } from '../src/adapters/keys/keys.ts';
import { createApp } from '../src/app.ts';
import { readExternalCheckpoint, verifyExport } from '../src/audit-app.ts';
import { createOperator, type Operator } from '../src/commands/bootstrap.ts';
import { loadConfig } from '../src/kernel/config/config.ts';
import { generateKeyPair, type KeyKind } from '../src/kernel/config/keypair.ts';
import { createLog } from '../src/kernel/observability/log.ts';
import type { PublicKey } from '../src/kernel/ports/signer.ts';
import { createTestClock, execute } from '../test/support/harness.ts';
import { recordEvents } from '../test/support/scenarios/audit-log.ts';
import { auditExportCases } from '../test/support/sdk/audit-export-cases.ts';
import type { AuditExportCase, RecordedExports } from '../test/support/sdk/export-changes.ts';
import { webhookCases } from '../test/support/sdk/webhook-cases.ts';
import { replaceVectors } from './sdk-vectors.ts';

const dayMs = 86_400_000;
const clock = createTestClock();

const folder = mkdtempSync(join(tmpdir(), 'countersign-vectors-'));
// Under root, PostgreSQL runs as another user that must be able to enter the folder.
chmodSync(folder, 0o755);
const postgres = await startEmbeddedPostgres({
  dataDir: join(folder, 'postgres'),
  settings: { fsync: 'off' },
});
try {
  const cases = auditExportCases(await recordExports(postgres.url));
  replaceVectors({
    webhooks: webhookCases,
    auditExports: await Promise.all(cases.map(withPlace)),
  });
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

interface Node {
  readonly app: Awaited<ReturnType<typeof createApp>>;
  readonly jwks: { readonly keys: readonly PublicKey[] };
  get(path: string): Promise<string>;
}

/** A server with this key, on the same database as the others. */
async function startNode(
  databaseUrl: string,
  kind: KeyKind,
  operatorBefore?: Operator,
): Promise<Node & { operator: Operator }> {
  const { privatePem, publicPem } = generateKeyPair(kind);
  const config = loadConfig({
    DATABASE_URL: databaseUrl,
    REDIS_URL: 'memory://',
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
    BASE_URL: 'https://id.example.com',
  });
  const app = await createApp({ config, log: createLog({ level: 'silent' }), clock });
  await app.prepare();
  const operator = operatorBefore ?? (await createOperator(app, false));
  const { server } = app.http;
  const get = async (url: string) => {
    const answer = await server.inject({
      method: 'POST',
      url: '/api/v1/token',
      payload: `grant_type=client_credentials&client_id=${operator.clientId}&client_secret=${operator.clientSecret}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const { body, statusCode } = await server.inject({
      url,
      headers: { authorization: `Bearer ${answer.json().access_token}` },
    });
    assert.equal(statusCode, 200, body);
    return body;
  };
  return { app, operator, get, jwks: JSON.parse(await get('/.well-known/jwks.json')) };
}

async function recordOther(): Promise<RecordedExports['other']> {
  const url = new URL(postgres.url);
  await execute(url.href, 'create database other');
  url.pathname = '/other';
  const node = await startNode(url.href, 'p-256');
  await node.app.audit.linkAll();
  const { organizationId } = node.operator;
  const [checkpoint] = await checkpointsOf(node, organizationId);
  await node.app.close();
  return { jwks: node.jwks, checkpoint: checkpoint as object };
}

async function checkpointsOf({ get }: Node, organizationId: string): Promise<object[]> {
  return JSON.parse(await get(`/api/v1/audit/checkpoints?organizationId=${organizationId}`)).data;
}

/** Two keys sign one after the other; then retention drops the time of the first. */
async function recordExports(databaseUrl: string): Promise<RecordedExports> {
  const first = await startNode(databaseUrl, 'ed25519');
  const [organization, another] = [first.app.ids.uuid(), first.app.ids.uuid()];
  const record = async ({ app }: Node, ...counts: readonly [string, number][]) => {
    for (const [organizationId, events] of counts) await recordEvents({ app, clock }, organizationId, events);
    await app.audit.linkAll();
  };
  const exportOf = async (node: Node, organizationId?: string): Promise<string[]> => {
    // The rate limit of exports.
    clock.advance(60_000);
    const query = organizationId === undefined ? '' : `?organizationId=${organizationId}`;
    return (await node.get(`/api/v1/audit/export${query}`)).trimEnd().split('\n');
  };
  await record(first, [organization, 3], [another, 1]);
  await first.app.close();
  clock.advance(dayMs);
  const second = await startNode(databaseUrl, 'p-256', first.operator);
  await record(second, [organization, 1], [another, 1]);
  await record(second, [organization, 1]);
  const one = await exportOf(second, organization);
  const whole = await exportOf(second);
  const empty = await exportOf(second, first.app.ids.uuid());
  const [checkpoint, , firstCheckpoint] = (await checkpointsOf(second, organization)) as object[];
  assert.ok(checkpoint && firstCheckpoint);
  await record(second, [organization, 1]);
  const [laterCheckpoint] = (await checkpointsOf(second, organization)) as [object];

  clock.advance(90 * dayMs);
  await second.app.audit.prepare();
  await second.app.audit.retain();
  const anchored = await exportOf(second, organization);
  await record(second, [organization, 1]);
  clock.advance(dayMs);
  await second.app.audit.prepare();
  await second.app.audit.retain();
  const shortened = await exportOf(second, organization);
  await second.app.close();
  return {
    jwks: second.jwks,
    ...{ one, whole, empty, anchored, shortened, checkpoint, firstCheckpoint, laterCheckpoint },
    other: await recordOther(),
  };
}

/** Compares with the server's own verification, and adds the number of the line at which it stops. */
async function withPlace(each: AuditExportCase): Promise<AuditExportCase & { line?: number }> {
  let line = 0;
  let isAtEnd = false;
  async function* read() {
    for (const text of each.lines) {
      line += 1;
      yield text;
    }
    isAtEnd = true;
  }
  const { finding, statement } = await verifyExport(read(), {
    roots: each.jwks.keys as PublicKey[],
    read: createStatementReader(),
    externalCheckpoint: each.checkpoint === null ? undefined : readExternalCheckpoint(each.checkpoint.trim()),
  });
  const problem = finding?.code ?? (statement ? undefined : 'EXPORT_WITHOUT_STATEMENT');
  assert.deepEqual([each.name, problem], [each.name, each.problem]);
  return finding && !isAtEnd ? { ...each, line } : each;
}
