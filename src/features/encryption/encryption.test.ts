import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { keepOpen, newAgent, startApp, type TestApp } from '../../../test/support/harness.ts';
import { encryptedColumns } from '../../app.ts';
import { createVault, type Vault } from '../../kernel/data/vault.ts';

const bytes = (key: number) => Buffer.alloc(32, key);
const text = (key: number) => bytes(key).toString('base64');
const keys = (current: number, ...previous: number[]) => ({
  DATA_ENCRYPTION_KEY: text(current),
  DATA_ENCRYPTION_PREVIOUS_KEYS: previous.map(text).join('\n'),
});
const prefixOf = (key: number) => createVault(bytes(key)).currentPrefix;

const post = async (t: TestApp, url: string, payload: object, key: string = randomUUID()) => {
  const headers = { 'idempotency-key': key };
  const answer = await t.call('POST', `/api/v1${url}`, { token: await t.token(), payload, headers });
  assert.equal(answer.status, 201, answer.text);
  return { json: answer.json, repeat: () => ({ url, payload, key, expected: answer.json }) };
};

const webhook = { name: 'Any', url: 'https://receiver.example/', events: ['agent.created'] };

/** A request for approval whose agent gets a ping. */
async function requestApproval(t: TestApp) {
  const { clientId, clientSecret } = await t.agent({ notificationUri: 'https://receiver.example/ping' });
  const personId = randomUUID();
  await t.sql(
    `insert into people (person_id, organization_id, issuer, subject, name, role, created_at, updated_at)
     values ($1::uuid, $2, 'https://login.example.com', $1::text, 'Ada', 'member', now(), now())`,
    [personId, t.operator.organizationId],
  );
  const { issuer } = (await t.call('GET', '/.well-known/oauth-authorization-server')).json;
  const asked = await t.form('/api/v1/bc-authorize', {
    ...{ client_id: clientId, client_secret: clientSecret, client_notification_token: 'a-token' },
    ...{ resource: issuer, scope: 'agents:read', login_hint: personId },
  });
  assert.equal(asked.status, 200, asked.text);
}

/** A subscription with a previous secret, and an agent, each created with an idempotency key; a connection, a request for approval, and a push stream. */
async function fill(t: TestApp) {
  const connection = { name: 'Login', issuer: 'https://login.example.com', clientId: randomUUID() };
  const connected = await t.call('POST', `/api/v1/organizations/${t.operator.organizationId}/connections`, {
    token: await t.token(),
    payload: { ...connection, clientSecret: 'a secret' },
  });
  assert.equal(connected.status, 201, connected.text);
  await requestApproval(t);
  const stream = await t.call('POST', '/api/v1/ssf/stream', {
    token: await t.token(),
    payload: {
      delivery: {
        method: 'urn:ietf:rfc:8935',
        endpoint_url: 'https://receiver.example/signals',
        authorization_header: 'Bearer of-the-receiver',
      },
    },
  });
  assert.equal(stream.status, 201, stream.text);
  const subscription = await post(t, '/webhooks', webhook);
  const agent = await post(t, '/agents', newAgent());
  const { id } = subscription.json;
  const rotated = await t.call('POST', `/api/v1/webhooks/${id}/rotate-secret`, { token: await t.token() });
  assert.equal(rotated.status, 200, rotated.text);
  const secrets = { id, current: rotated.json.signingSecret, previous: subscription.json.signingSecret };
  return { secrets, repeats: [subscription.repeat(), agent.repeat()] };
}

const rotate = (
  { app, operator }: TestApp,
  options: { onProgress?: (done: number, left: number) => void; skipUnreadable?: boolean } = {},
) =>
  app.encryption.rotate({
    actor: {
      requestId: 'test',
      ipAddress: '127.0.0.1',
      userAgent: 'test',
      agentId: operator.agentId,
    },
    subject: operator,
    skipUnreadable: false,
    onProgress: () => {},
    ...options,
  });

async function insertResponses(t: TestApp, vault: Vault, length: number): Promise<void> {
  const rows = Array.from({ length }, () => ({
    caller: `caller:${randomUUID()}`,
    hash: randomUUID(),
  }));
  await t.sql(
    `insert into idempotency_keys (caller, key_hash, request_hash, created_id, response, created_at)
     select caller, convert_to(hash, 'UTF8'), ''::bytea, 'x', response, now()
     from unnest($1::text[], $2::text[], $3::text[]) as r (caller, hash, response)`,
    [
      rows.map(({ caller }) => caller),
      rows.map(({ hash }) => hash),
      rows.map(({ caller, hash }) =>
        vault.seal('{}', `idempotency:${caller}:${Buffer.from(hash).toString('hex')}`),
      ),
    ],
  );
}

const countsOf = async (t: TestApp) =>
  Object.fromEntries(
    (await t.app.encryption.count({ skipUnreadable: false })).columns.map(
      ({ name, current, other, plain, unknown }) => [name, [current, other, plain, unknown]],
    ),
  );
const all = (name: number[], previous: number[], response: number[]) => ({
  'webhook_subscriptions.signing_secret': name,
  'webhook_subscriptions.previous_signing_secret': previous,
  'connections.client_secret': previous,
  'idempotency_keys.response': response,
  'approvals.ping': previous,
  'signal_streams.authorization_header': previous,
});

/** Every stored text, opened with the keys of the node. */
async function assertReadable(t: TestApp, key: number, filled: Awaited<ReturnType<typeof fill>>) {
  const { id, current, previous } = filled.secrets;
  const [row] = await t.sql<{ current: string; previous: string }>(
    'select signing_secret as current, previous_signing_secret as previous from webhook_subscriptions where subscription_id = $1',
    [id],
  );
  const vault = createVault(bytes(key));
  assert.deepEqual(
    [row?.current, row?.previous].map((sealed) => vault.open(sealed ?? '', id)),
    [current, previous],
  );
  for (const { url, payload, key, expected } of filled.repeats)
    assert.deepEqual((await post(t, url, payload, key)).json, expected);
}

describe('a server whose keys do not decrypt the stored secrets', () => {
  const reports = ({ logs }: TestApp) =>
    logs
      .map((line) => JSON.parse(line))
      .filter(({ missingKeyId }) => missingKeyId !== undefined)
      .map(({ column, missingKeyId }) => [column, missingKeyId]);

  it('says so at its start, and serves', async () => {
    const first = await startApp(keys(1));
    await fill(first);
    const keyId = createVault(bytes(1)).keyId;
    const expected = encryptedColumns.map(({ name }) => [name, keyId]);
    const wrong = await startApp({ ...keys(2), LOG_LEVEL: 'error' }, first);
    assert.deepEqual(reports(wrong), expected);
    assert.equal((await wrong.call('GET', '/health')).status, 200);
    const without = await startApp({ DATA_ENCRYPTION_KEY: '', LOG_LEVEL: 'error' }, first);
    assert.deepEqual(reports(without), expected);
    for (const right of [keys(1), keys(2, 1)])
      assert.deepEqual(reports(await startApp({ ...right, LOG_LEVEL: 'error' }, first)), []);
  });
});

describe('the rotation of the encryption key', () => {
  it('encrypts all texts again, twice; both nodes read all of them at any time; the audit log records it', async () => {
    const first = await startApp(keys(1, 2));
    const filled = await fill(first);
    const second = await startApp(keys(2, 1), first);
    assert.deepEqual(await countsOf(second), all([0, 1, 0, 0], [0, 1, 0, 0], [0, 2, 0, 0]));

    const progress: number[][] = [];
    const { reencrypted, damaged } = await rotate(second, {
      onProgress: (...step) => void progress.push(step),
    });
    assert.deepEqual([reencrypted, damaged.rows], [7, 0]);
    assert.deepEqual(progress.at(-1), [7, 0]);
    assert.deepEqual(await countsOf(second), all([1, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]));
    await assertReadable(second, 2, filled);
    for (const { url, payload, key, expected } of filled.repeats)
      assert.deepEqual(
        (await post(first, url, payload, key)).json,
        expected,
        'the old node reads the new key',
      );

    // Again: nothing is left to do.
    assert.equal((await rotate(second)).reencrypted, 0);
    const third = await startApp(keys(3, 2), first);
    await rotate(third);
    await assertReadable(await startApp(keys(3), first), 3, filled);

    const events = await first.sql<{ action: string; metadata: Record<string, unknown> }>(
      "select action, metadata from audit_events where action like 'encryption_key.%' order by event_id",
    );
    assert.deepEqual(
      events.map(({ action, metadata: { rows, left } }) => [action.split('_').at(-1), rows, left]),
      [
        ['started', 7, undefined],
        ['ended', 7, 0],
        ['started', 0, undefined],
        ['ended', 0, 0],
        ['started', 7, undefined],
        ['ended', 7, 0],
      ],
    );
    assert.ok(!JSON.stringify(events).includes(text(2)));
    assert.equal((await first.app.audit.verify(first.operator.organizationId)).finding, undefined);
  });

  it('encrypts plain texts after the first key was set', async () => {
    const plain = await startApp({ DATA_ENCRYPTION_PREVIOUS_KEYS: text(1) });
    const { secrets, repeats } = await fill(plain);
    const first = await startApp(keys(1), plain);
    // A secret of a response is not stored without a key.
    assert.deepEqual(await countsOf(first), all([0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0]));
    assert.equal((await rotate(first)).reencrypted, 6);
    await assertReadable(first, 1, { secrets, repeats: repeats.slice(1) });
  });

  it('leaves texts of a lost key and damaged texts as they are, and reports them', async () => {
    const first = await startApp(keys(1));
    const { id: lost } = (await fill(first)).secrets;
    const lostKey = createVault(bytes(9)).seal('whsec_lost', lost);
    await first.sql('update webhook_subscriptions set signing_secret = $1', [lostKey]);
    const { id: broken } = (await fill(first)).secrets;
    await first.sql(
      "update webhook_subscriptions set signing_secret = overlay(signing_secret placing 'AAAA' from 60) where subscription_id = $1",
      [broken],
    );
    const before = await first.sql(
      'select signing_secret from webhook_subscriptions order by subscription_id',
    );
    const second = await startApp(keys(2, 1), first);
    const { damaged, unknown, columns, left } = await rotate(second);
    assert.deepEqual(damaged, { rows: 1, first: [`webhook_subscriptions.signing_secret ${broken}`] });
    assert.deepEqual(unknown, { rows: 1, first: [`webhook_subscriptions.signing_secret ${lost}`] });
    assert.equal(left, 2);
    assert.deepEqual(await countsOf(second), all([0, 1, 0, 1], [2, 0, 0, 0], [4, 0, 0, 0]));
    assert.deepEqual(columns[0]?.unknownKeyIds, [createVault(bytes(9)).keyId]);
    assert.deepEqual(
      await first.sql('select signing_secret from webhook_subscriptions order by subscription_id'),
      before,
    );
  });

  it('skips texts of lost keys on demand: the audit log records a success, and the result names the first 100', async () => {
    const t = await startApp(keys(1));
    const { id } = (await fill(t)).secrets;
    await insertResponses(t, createVault(bytes(9)), 101);
    const second = await startApp(keys(2, 1), t);

    const refused = await rotate(second);
    assert.deepEqual([refused.reencrypted, refused.left], [7, 101]);
    const skipped = await rotate(second, { skipUnreadable: true });
    assert.deepEqual([skipped.reencrypted, skipped.left], [0, 0]);
    assert.equal(skipped.unknown.rows, 101);
    assert.equal(skipped.unknown.first.length, 100);
    for (const name of skipped.unknown.first) assert.match(name, /^idempotency_keys\.response \w+:caller:/);

    // A damaged text is left: it is not of a lost key.
    await t.sql("update webhook_subscriptions set signing_secret = $1 || 'AAAA'", [prefixOf(1)]);
    const { damaged, left } = await rotate(second, { skipUnreadable: true });
    assert.deepEqual([damaged.first, left], [[`webhook_subscriptions.signing_secret ${id}`], 1]);

    const events = await t.sql<{ outcome: string; metadata: Record<string, unknown> }>(
      "select outcome, metadata from audit_events where action = 'encryption_key.rotation_ended' order by event_id",
    );
    assert.deepEqual(
      events.map(({ outcome, metadata }) => [
        outcome,
        metadata.skipUnreadable,
        metadata.left,
        metadata.unreadable,
      ]),
      [
        ['failure', false, 101, 101],
        ['success', true, 0, 101],
        ['failure', true, 1, 101],
      ],
    );
  });

  it('reads more rows than one batch has, and two rotations at once change each row once', async () => {
    const t = await startApp(keys(1));
    await insertResponses(t, createVault(bytes(1)), 501);
    const nodes = await Promise.all([startApp(keys(2, 1), t), startApp(keys(2, 1), t)]);
    const results = await Promise.all(nodes.map((node) => rotate(node)));
    assert.equal(
      results.reduce((sum, { reencrypted }) => sum + reencrypted, 0),
      501,
    );
    assert.deepEqual((await countsOf(nodes[0]))['idempotency_keys.response'], [501, 0, 0, 0]);
  });

  it('knows every feature that encrypts, and every column with encrypted texts', async () => {
    const source = new URL('../../', import.meta.url);
    const list = readFileSync(new URL('composition/encrypted-columns.ts', source), 'utf8');
    const encrypting = globSync('features/**/*.ts', { cwd: fileURLToPath(source) })
      .filter((file) => !file.endsWith('.test.ts') && !file.startsWith('features/encryption/'))
      .filter((file) => /\bvault\.seal\(/.test(readFileSync(new URL(file, source), 'utf8')))
      .map((file) => file.split('/')[1]);
    assert.deepEqual(
      [...new Set(encrypting)].sort(),
      [...list.matchAll(/'\.\.\/features\/([^/]+)\//g)].map(([, feature]) => feature).sort(),
    );

    const t = await startApp(keys(1));
    await fill(t);
    const columns = await t.sql<{ table: string; column: string }>(
      `select c.table_name as table, c.column_name as column
       from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
       where c.table_schema = current_schema() and t.table_type = 'BASE TABLE'
         and c.data_type in ('text', 'json', 'jsonb', 'ARRAY')`,
    );
    const found: string[] = [];
    for (const { table, column } of columns) {
      const rows = await t.sql(`select from "${table}" where "${column}"::text like '%sealed:1:%' limit 1`);
      if (rows.length > 0) found.push(`${table}.${column}`);
    }
    assert.deepEqual(found.sort(), encryptedColumns.map(({ name }) => name).sort());
  });

  for (const column of encryptedColumns)
    it(`finds the newest text of each key in ${column.name}`, async () => {
      const t = await startApp(keys(1));
      await fill(t);
      await fill(await startApp(keys(2, 1), t));
      await fill(await startApp({ DATA_ENCRYPTION_PREVIOUS_KEYS: [1, 2].map(text).join(' ') }, t));
      const found = await column.newestByKey(t.app.db);
      const vaults = [createVault(bytes(1)), createVault(bytes(2))];
      assert.deepEqual(
        new Set(found.map(({ keyId }) => keyId)),
        new Set([...vaults.map(({ keyId }) => keyId), null]),
      );
      const [table, name] = column.name.split('.');
      for (const { keyId, rows, newest } of found) {
        const stored = await t.sql<{ text: string }>(
          `select ${name} as text from ${table} where case when $1::text is null then ${name} not like 'sealed:%'
             else ${name} like 'sealed:1:' || $1 || ':%' end order by created_at desc`,
          [keyId],
        );
        assert.deepEqual([rows, newest.text], [stored.length, stored[0]?.text]);
        assert.ok(createVault(bytes(2), [bytes(1)]).open(newest.text, newest.owner));
      }
    });

  for (const column of encryptedColumns)
    it(`does not overwrite a concurrent change of ${column.name}`, async () => {
      const t = await startApp(keys(1));
      await fill(t);
      const [table, name] = column.name.split('.');
      const { db } = t.app;
      const texts = await column.read(db, {
        unlessEncryptedWith: prefixOf(2),
        atMost: 10,
      });
      assert.ok(texts.length > 0);
      const [changed] = texts;
      const release = await keepOpen(t, (tx) =>
        column.replace(tx, [{ ...(changed ?? assert.fail()), replacement: 'by a request' }]),
      );
      const replacing = column.replace(
        db,
        texts.map((each) => ({ ...each, replacement: 'by the rotation' })),
      );
      await release();
      assert.equal(await replacing, texts.length - 1);
      const stored = await t.sql<{ text: string }>(
        `select ${name} as text from ${table} where ${name} is not null`,
      );
      assert.equal(stored.filter(({ text }) => text === 'by a request').length, 1);
    });
});
