/**
 * Writes `webhooks` and `auditExports` of sdk/vectors.json. The audit exports come from a real server on a temporary PostgreSQL,
 * with keys made for this run; `npm run token-cases` writes the rest of the file.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLogTrust } from '../sdk/typescript/src/transparency/log-trust.ts';
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
import type { AuditExportCase, LoggedExports, RecordedExports } from '../test/support/sdk/export-changes.ts';
import { logKeysOf, resignedBy } from '../test/support/sdk/log-keys.ts';
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
  const cases = await auditExportCases(await recordExports(postgres.url));
  replaceVectors({
    webhooks: webhookCases,
    auditExports: await Promise.all(cases.map(withPlace)),
  });
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

interface Node {
  readonly privatePem: string;
  readonly app: Awaited<ReturnType<typeof createApp>>;
  readonly jwks: { readonly keys: readonly PublicKey[] };
  get(path: string): Promise<string>;
}

/** A server with this key, on the same database as the others. */
async function startNode(
  databaseUrl: string,
  kind: KeyKind,
  operatorBefore?: Operator,
  auditLogKey?: KeyObject,
): Promise<Node & { operator: Operator }> {
  const { privatePem, publicPem } = generateKeyPair(kind);
  const config = loadConfig({
    DATABASE_URL: databaseUrl,
    REDIS_URL: 'memory://',
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
    BASE_URL: 'https://id.example.com',
    ...(auditLogKey && { AUDIT_LOG_KEY: auditLogKey.export({ type: 'pkcs8', format: 'pem' }).toString() }),
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
  return { app, operator, get, privatePem, jwks: JSON.parse(await get('/.well-known/jwks.json')) };
}

async function createDatabase(name: string): Promise<string> {
  const url = new URL(postgres.url);
  await execute(url.href, `create database ${name}`);
  url.pathname = `/${name}`;
  return url.href;
}

async function recordOther(): Promise<RecordedExports['other']> {
  const node = await startNode(await createDatabase('other'), 'p-256');
  await node.app.audit.linkAll();
  const { organizationId } = node.operator;
  const [checkpoint] = await checkpointsOf(node, organizationId);
  await node.app.close();
  return { jwks: node.jwks, checkpoint: checkpoint as object };
}

async function checkpointsOf({ get }: Node, organizationId: string): Promise<object[]> {
  return JSON.parse(await get(`/api/v1/audit/checkpoints?organizationId=${organizationId}`)).data;
}

function today(): string {
  return new Date(clock.now()).toISOString().slice(0, 10);
}

async function exportOf(node: Node, organizationId?: string): Promise<string[]> {
  // The rate limit of exports.
  clock.advance(60_000);
  const query = organizationId === undefined ? '' : `?organizationId=${organizationId}`;
  return (await node.get(`/api/v1/audit/export${query}`)).trimEnd().split('\n');
}

/** A server with an instance log: three days of an organization, later ones, and then retention. */
async function recordLogged(): Promise<LoggedExports> {
  // Each day has its events within it.
  clock.advance(dayMs - (clock.now() % dayMs) + 3_600_000);
  const logKey = generateKeyPairSync('ed25519').privateKey;
  const node = await startNode(await createDatabase('logged'), 'p-256', undefined, logKey);
  const { audit, instanceLog, ids } = node.app;
  const [organization, another] = [ids.uuid(), ids.uuid()];
  const record = async (organizationId: string, events: number) => {
    await recordEvents({ app: node.app, clock }, organizationId, events);
    await audit.linkAll();
    clock.advance(1_000);
  };
  const exportDay = async (day: string) => {
    const lines: string[] = [];
    for await (const line of audit.exportDay({ organizationId: organization, day }))
      lines.push(JSON.stringify(line));
    return lines;
  };
  const nextDay = async (days = 1) => {
    clock.advance(days * dayMs);
    await audit.prepare();
    return today();
  };
  const first = today();
  await record(organization, 2);
  await record(another, 1);
  await record(organization, 1);
  const second = await nextDay();
  await record(organization, 1);
  await record(another, 1);
  await record(organization, 2);
  const quiet = await nextDay();
  await record(another, 1);
  await nextDay();
  await record(organization, 1);
  await instanceLog.grow();
  const one = await exportOf(node, organization);
  const whole = await exportOf(node);
  const empty = await exportOf(node, ids.uuid());
  await record(organization, 1);
  const later = await exportOf(node, organization);
  const afterGap = await nextDay(4);
  await record(organization, 2);
  await nextDay();
  await instanceLog.grow();
  const firstDay = await exportDay(first);
  const secondDay = await exportDay(second);
  const quietDay = await exportDay(quiet);
  // The events of the first day are dropped, and then its links.
  clock.advance(Date.parse(first) + 91 * dayMs + 7_200_000 - clock.now());
  await audit.prepare();
  await audit.retain();
  const anchoredDay = await exportDay(second);
  clock.advance(Date.parse(afterGap) + 90 * dayMs + 7_200_000 - clock.now());
  await audit.prepare();
  await audit.retain();
  const shortenedDay = await exportDay(afterGap);
  await node.app.close();
  return {
    jwks: node.jwks,
    ...{ one, whole, empty, later, firstDay, secondDay, quietDay, anchoredDay, shortenedDay },
    log: logKeysOf(logKey),
    resigned: resignedBy(node.privatePem),
  };
}

/** Two keys sign one after the other; then retention drops the time of the first. */
async function recordExports(databaseUrl: string): Promise<RecordedExports> {
  const first = await startNode(databaseUrl, 'ed25519');
  const [organization, another] = [first.app.ids.uuid(), first.app.ids.uuid()];
  const record = async ({ app }: Node, ...counts: readonly [string, number][]) => {
    for (const [organizationId, events] of counts) await recordEvents({ app, clock }, organizationId, events);
    await app.audit.linkAll();
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
    logged: await recordLogged(),
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
  const { finding, statement, witnessed } = await verifyExport(read(), {
    roots: each.jwks.keys as PublicKey[],
    read: createStatementReader(),
    externalCheckpoint: each.checkpoint === null ? undefined : readExternalCheckpoint(each.checkpoint.trim()),
    log: each.log && readLogTrust(each.log),
  });
  const problem = finding?.code ?? (statement ? undefined : 'EXPORT_WITHOUT_STATEMENT');
  assert.deepEqual([each.name, problem], [each.name, each.problem]);
  if (each.valid)
    assert.deepEqual([each.name, witnessed, statement?.day], [each.name, each.witnessed ?? null, each.day]);
  return finding && !isAtEnd ? { ...each, line } : each;
}
