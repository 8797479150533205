/** GET /audit/archives and the files behind it. */
import assert from 'node:assert/strict';
import { createPublicKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { environment, startApp, startOfMinute } from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import { dayOf, inPieces, sha256, toNextDay } from '../../../../test/support/scenarios/archive.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createStatementReader, describePublicKey } from '../../../adapters/keys/keys.ts';
import { zstd } from '../../../adapters/zstd.ts';
import { inspectFile } from './inspect-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-archive-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const t = await startApp({
  MULTI_TENANT: 'true',
  AUDIT_ARCHIVE_URL: pathToFileURL(folder).href,
  LOG_LEVEL: 'error',
});
const base = await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
const roots = [await describePublicKey(createPublicKey(environment(t.databaseUrl).JWT_PUBLIC_KEY))];
const read = createStatementReader();
const path = '/api/v1/audit/archives';

async function createOrganization() {
  const payload = { name: 'Team', slug: `team-${crypto.randomUUID().slice(0, 13)}`, planTier: 'pro' };
  const made = await t.call('POST', '/api/v1/organizations', { token: await t.token(), payload });
  const { organizationId } = made.json;
  const reader = await t.agent({ organization_id: organizationId, allowedScopes: ['audit:read'] });
  return { organizationId: String(organizationId), reader, token: () => t.token(undefined, reader) };
}

toNextDay(t);
await t.app.audit.prepare();
const tenant = await createOrganization();
const other = await createOrganization();
/** Suspended, and later deleted, before its day was over. */
const gone = await createOrganization();
const days: string[] = [];
for (const [method, payload] of [
  ['PATCH', { status: 'suspended' }],
  ['DELETE', undefined],
] as const) {
  const url = `/api/v1/organizations/${gone.organizationId}`;
  const ended = await t.call(method, url, { token: await t.token(), ...(payload && { payload }) });
  assert.ok(ended.status < 300, ended.text);
}
for (const events of [20, 30]) {
  days.push(dayOf(t.clock.now()));
  await recordEvents(t, tenant.organizationId, events, `probe ${crypto.randomUUID()}`);
  await t.app.audit.linkAll();
  toNextDay(t);
  await t.app.audit.prepare();
}
const [first, second] = days as [string, string];
await t.app.audit.archiving?.round();

const fileOf = (day: string) => join(folder, tenant.organizationId, `${day.replaceAll('-', '/')}.jsonl.zst`);
/** A file that is larger than all buffers on its way. The route knows its size and hash, and does not look into it. */
const last = dayOf(t.clock.now());
const large = randomBytes(20_000_000);
await mkdir(dirname(fileOf(last)), { recursive: true });
await writeFile(fileOf(last), large);
await t.sql(
  `insert into audit_archives (organization_id, day, events, bytes, sha256, chain_head, object, created_at)
   values ($1, $2, 5000, $3, decode($4, 'hex'), decode($4, 'hex'), $5, now())`,
  [tenant.organizationId, last, large.length, sha256(large), relative(folder, fileOf(last))],
);
const list = async (query: string, token: string) => t.call('GET', `${path}${query}`, { token });

interface Download {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** False when the connection broke off. */
  readonly complete: boolean;
}
const open = (day: string, token: string, query = '') =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpGet(`${base}${path}/${day}${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    request.on('response', (response) => {
      response.pause();
      response.on('error', () => {});
      resolve(response);
    });
    request.on('error', reject);
  });
async function bodyOf(response: IncomingMessage): Promise<Download> {
  const chunks: Buffer[] = [];
  const closed = new Promise((resolve) => response.on('close', resolve));
  response.on('data', (chunk) => chunks.push(chunk));
  response.resume();
  await closed;
  const { statusCode: status = 0, headers, complete } = response;
  return { status, headers, body: Buffer.concat(chunks), complete };
}
const download = async (day: string, token: string, query = '') => bodyOf(await open(day, token, query));
const codeOf = ({ body }: Download) => JSON.parse(String(body)).code;

describe('GET /audit/archives', () => {
  it('200: the days of the own organization, newest first, with pages and a range', async () => {
    const token = await tenant.token();
    const all = (await list('', token)).json;
    assert.deepEqual(
      all.data.map(({ date, events }: { date: string; events: number }) => [date, events]).slice(0, 2),
      [
        [last, 5_000],
        [second, 30],
      ],
    );
    assert.equal(all.total, 3);
    assert.deepEqual(Object.keys(all.data[0]), [
      'date',
      'events',
      'bytes',
      'sha256',
      'chainHead',
      'createdAt',
    ]);
    const page = (await list(`?page=2&limit=1&from=${first}&to=${second}`, token)).json;
    assert.deepEqual([page.total, page.data.length, page.data[0].date], [2, 1, first]);
  });

  it('200: another organization has its own days; an operator names an organization', async () => {
    const own = (await list('', await other.token())).json;
    const named = (await list(`?organizationId=${tenant.organizationId}`, await t.token())).json;
    assert.deepEqual(
      [own.data.some(({ events }: { events: number }) => events === 30), named.total],
      [false, 3],
    );
  });

  it('200: the days of a deleted organization are archived, for the operator', async () => {
    const { data } = (await list(`?organizationId=${gone.organizationId}`, await t.token())).json;
    assert.deepEqual(
      data.map(({ date }: { date: string }) => date),
      [first],
    );
    const { status, complete } = await download(
      first,
      await t.token(),
      `?organizationId=${gone.organizationId}`,
    );
    assert.deepEqual([status, complete], [200, true]);
  });

  it('404 ORG_NOT_FOUND for another organization, 400 for no day, 403 without audit:read', async () => {
    const foreign = await list(`?organizationId=${tenant.organizationId}`, await other.token());
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'ORG_NOT_FOUND']);
    for (const query of ['?from=x', '?to=2030-02-31', '?from=0000-01-01', '?from=2030-02-02&to=2030-02-01']) {
      const refused = await list(query, await t.token());
      assert.deepEqual([refused.status, refused.json.code], [400, 'VALIDATION_ERROR'], query);
    }
    assert.equal((await list('', await t.token('agents:read'))).json.code, 'INSUFFICIENT_SCOPE');
  });

  it('200: an empty list without AUDIT_ARCHIVE_URL, and 404 ARCHIVE_NOT_FOUND for its files', async () => {
    const plain = await startApp({ MULTI_TENANT: 'true' }, t);
    const token = await tenant.token();
    assert.deepEqual((await plain.call('GET', path, { token })).json, {
      data: [],
      total: 0,
      page: 1,
      limit: 50,
    });
    assert.equal((await plain.call('GET', `${path}/${first}`, { token })).json.code, 'ARCHIVE_NOT_FOUND');
  });
});

describe('GET /audit/archives/{date}', () => {
  it('200: the file as it is stored, which verifies', async () => {
    const [entry] = (await list(`?from=${second}&to=${second}`, await tenant.token())).json.data;
    const { status, headers, body, complete } = await download(second, await tenant.token());
    assert.deepEqual([status, complete], [200, true]);
    assert.equal(headers['content-type'], 'application/zstd');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['content-length'], String(entry.bytes));
    assert.equal(
      headers['content-disposition'],
      `attachment; filename="audit-${tenant.organizationId}-${second}.jsonl.zst"`,
    );
    assert.deepEqual([sha256(body), body.length], [entry.sha256, entry.bytes]);
    const { verdict } = await inspectFile(inPieces(body), { compression: zstd, roots, read });
    assert.deepEqual([verdict.finding, verdict.events, verdict.statement?.day], [undefined, 30, second]);
  });

  it('404 ARCHIVE_NOT_FOUND for a day without a file, of another organization too; 400 for no day', async () => {
    const missing = await download('2030-01-31', await tenant.token());
    assert.deepEqual([missing.status, codeOf(missing)], [404, 'ARCHIVE_NOT_FOUND']);
    assert.equal(codeOf(await download(second, await other.token())), 'ARCHIVE_NOT_FOUND');
    const query = `?organizationId=${tenant.organizationId}`;
    assert.equal(codeOf(await download(second, await other.token(), query)), 'ORG_NOT_FOUND');
    assert.equal((await download(second, await t.token(), query)).status, 200);
    assert.equal(codeOf(await download('2030-02-31', await tenant.token())), 'VALIDATION_ERROR');
  });

  it('503 SERVICE_UNAVAILABLE and an alarm when the file is gone; the connection breaks off when it was changed', async () => {
    const file = fileOf(first);
    const token = await tenant.token();
    await rename(file, `${file}.moved`);
    const gone = await download(first, token);
    assert.deepEqual([gone.status, codeOf(gone)], [503, 'SERVICE_UNAVAILABLE']);
    assert.doesNotMatch(String(gone.body), /file:|countersign-archive/);
    await rename(`${file}.moved`, file);
    assert.equal((await download(first, token)).status, 200);
    assert.match(await t.app.metrics.text(), /service_audit_archive_failures_total\{cause="content"\} 1/);
  });

  it('breaks off before the end, with an alarm, when the file was changed; 503 when it is short', async () => {
    const token = await tenant.token();
    const change = async (day: string, bytes: Buffer) => {
      await rm(fileOf(day));
      await writeFile(fileOf(day), bytes);
    };
    const changed = Buffer.from(large);
    changed.writeUInt8(changed.readUInt8(100) ^ 1, 100);
    await change(last, changed);
    const broken = await download(last, token);
    assert.deepEqual([broken.status, broken.complete], [200, false]);
    assert.ok(broken.body.length < large.length);
    await change(last, large);
    const whole = await download(last, token);
    assert.deepEqual([whole.complete, sha256(whole.body)], [true, sha256(large)]);
    const small = await readFile(fileOf(first));
    await change(first, Buffer.from(small).fill(0, 20, 30));
    assert.equal((await download(first, token)).status, 503);
    await change(first, small);
    assert.match(await t.app.metrics.text(), /service_audit_archive_failures_total\{cause="content"\} 3/);
    const alarms = t.logs.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
    assert.deepEqual(
      alarms.map(({ date }) => date),
      [first, last, first],
    );
  });
});

describe('GET /audit/archives/{date} to a client that reads slowly', () => {
  it('429 RATE_LIMIT_EXCEEDED for a third download of the organization, until one has ended; no connection is held', async () => {
    startOfMinute(t.clock);
    const token = await tenant.token();
    const slow = await Promise.all([open(last, token), open(last, token)]);
    const refused = await download(last, token);
    assert.deepEqual([refused.status, codeOf(refused)], [429, 'RATE_LIMIT_EXCEEDED']);
    assert.match(String(refused.body), /already runs 2 downloads of archived days/);
    const [row] = await t.sql<{ open: number }>(
      `select count(*)::int as open from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%'`,
    );
    assert.equal(row?.open, 0);
    slow[0]?.destroy();
    await until('a download has ended', async () => {
      const next = await open(last, token);
      next.destroy();
      return next.statusCode === 200 || undefined;
    });
    slow[1]?.destroy();
  });

  it('200: HEAD reads no file, and a range or a condition gets all of it', async () => {
    t.clock.advance(60_000);
    startOfMinute(t.clock);
    const token = await tenant.token();
    const alarms = t.logs.length;
    const ask = (method: string, headers = {}) =>
      fetch(`${base}${path}/${last}`, { method, headers: { authorization: `Bearer ${token}`, ...headers } });
    for (let time = 0; time < 5; time += 1) {
      const head = await ask('HEAD');
      assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(large.length)]);
      await until('its place is free', async () => {
        const next = await open(last, token);
        next.destroy();
        return next.statusCode === 200 || undefined;
      });
    }
    t.clock.advance(60_000);
    for (const headers of [{ range: 'bytes=0-9' }, { 'if-none-match': '*' }, { 'accept-encoding': 'gzip' }]) {
      const answer = await ask('GET', headers);
      assert.deepEqual([answer.status, answer.headers.get('content-encoding')], [200, null]);
      assert.ok(large.equals(Buffer.from(await answer.arrayBuffer())));
    }
    assert.deepEqual(t.logs.slice(alarms), []);
  });

  it('breaks off when the credential was revoked', async () => {
    t.clock.advance(60_000);
    startOfMinute(t.clock);
    const slow = await open(last, await tenant.token());
    const { reader } = tenant;
    const credentials = `/api/v1/agents/${reader.agentId}/credentials`;
    const { data } = (await t.call('GET', credentials, { token: await t.token() })).json;
    await t.call('DELETE', `${credentials}/${data[0].credentialId}`, { token: await t.token() });
    const { complete, body } = await bodyOf(slow);
    assert.deepEqual([complete, body.length < large.length], [false, true]);
  });
});

describe('GET /audit beyond retention', () => {
  it('400 RETENTION_WINDOW_EXCEEDED names the archive', async () => {
    const { status, json } = await t.call('GET', '/api/v1/audit?toDate=2001-01-01', {
      token: await t.token(),
    });
    assert.deepEqual(
      [status, json.code, json.details.archive],
      [400, 'RETENTION_WINDOW_EXCEEDED', '/api/v1/audit/archives'],
    );
  });
});
