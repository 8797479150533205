/**
 * The steps of docs/guides/rotate-credentials-and-keys.md#the-encryption-key under load: two nodes get the keys one at a time, and
 * `countersign rotate-encryption-key` is killed in the middle and run again. Every delivery is signed with the secret that its
 * subscriber has, and every repeated request gets its first answer.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { createVault } from '../../src/kernel/data/vault.ts';
import { runCommand } from '../support/command-line.ts';
import { environment, startApp, type TestApp } from '../support/harness.ts';
import { startReceiver } from '../support/peers/receivers.ts';
import { startCountersign, until } from '../support/programs.ts';
import { holdOpen } from '../support/scenarios/audit-log.ts';
import { startWebhookApp } from '../support/scenarios/webhooks.ts';

const [old, next, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
const text = (key: Buffer) => key.toString('base64');
const keys = (current?: Buffer, previous?: Buffer) => ({
  DATA_ENCRYPTION_KEY: current ? text(current) : '',
  DATA_ENCRYPTION_PREVIOUS_KEYS: previous ? text(previous) : '',
});
const settings = { WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', LOG_LEVEL: 'warn' };
/** More than one batch of the command. */
const stored = 900;

interface Sample {
  readonly id: string;
  readonly secret: string;
  /** The request that created it, with its idempotency key. */
  readonly request: { payload: object; headers: Record<string, string> };
  readonly answer: unknown;
}

/** Creates subscriptions, repeats their creation, rotates secrets and causes deliveries, at the nodes in turn. */
async function startLoad(nodes: TestApp[]) {
  const samples: Sample[] = [];
  const secrets = new Map<string, string[]>();
  const tested = new Set<string>();
  const arrived = new Set<string>();
  const failures: string[] = [];
  let rounds = 0;
  let over = false;
  let turn = 0;
  const receiver = await startReceiver(
    ({ url, headers, body }, response) => {
      arrived.add(headers['webhook-id'] ?? '');
      const isSigned = (secrets.get(url) ?? []).some((secret) => {
        try {
          return new Webhook(secret).verify(body, headers) !== undefined;
        } catch {
          return false;
        }
      });
      if (!isSigned) failures.push(`${url}: the signature is of no secret of its subscriber`);
      response.writeHead(204).end();
    },
    { keep: false },
  );
  const node = (): TestApp => nodes[turn++ % nodes.length] as TestApp;
  const call = async (method: 'POST' | 'DELETE', path: string, options: object = {}) => {
    const at = node();
    const answer = await at.call(method, `/api/v1/webhooks${path}`, { token, ...options });
    if (answer.status >= 300) failures.push(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const token = await node().token();
  const round = async () => {
    const path = `/${rounds}`;
    const payload = { name: 'Load', url: receiver.url + path, events: ['agent.decommissioned'] };
    const request = { payload, headers: { 'idempotency-key': randomUUID() } };
    const { json: answer } = await call('POST', '', request);
    secrets.set(path, [answer.signingSecret]);
    samples.push({ id: answer.id, secret: answer.signingSecret, request, answer });
    tested.add((await call('POST', `/${answer.id}/test`)).json.id);
    const earlier = samples[Math.floor(Math.random() * samples.length)] as Sample;
    assert.deepEqual(
      (await call('POST', '', earlier.request)).json,
      earlier.answer,
      'the first answer again',
    );
    tested.add((await call('POST', `/${earlier.id}/test`)).json.id);
    if (rounds % 3 === 0) {
      const { json } = await call('POST', `/${answer.id}/rotate-secret`);
      secrets.get(path)?.push(json.signingSecret);
      tested.add((await call('POST', `/${answer.id}/test`)).json.id);
    }
    for (const each of nodes) await each.app.deliveries.drain();
    if (samples.length > 15) {
      const [{ id } = { id: '' }] = samples.splice(0, 1);
      await call('DELETE', `/${id}`);
    }
    rounds += 1;
    await sleep(20);
  };
  const running = (async () => {
    while (!over) await round();
  })();
  running.catch(() => {
    over = true;
  });
  return {
    /** Several rounds with the present nodes. */
    async phase() {
      const from = rounds;
      await until('rounds of load', async () => {
        if (over) await running;
        return rounds >= from + 6 || undefined;
      });
      assert.deepEqual(failures, []);
    },
    async end() {
      over = true;
      await running;
      for (const each of nodes) await each.app.deliveries.drain();
      assert.deepEqual(failures, []);
      assert.deepEqual(
        [...tested].filter((id) => !arrived.has(id)),
        [],
        'every delivery arrived',
      );
      assert.ok(tested.size > 40);
    },
  };
}

/** In this process. */
const rotate = (env: Record<string, string>, ...options: string[]) =>
  runCommand(['rotate-encryption-key', ...options], { env, cwd: tmpdir() });

/** Answers that a client may still repeat. */
async function insertResponses(t: TestApp): Promise<void> {
  const vault = createVault(old);
  const rows = Array.from({ length: stored }, () => {
    const caller = `load:${randomUUID()}`;
    const hash = randomBytes(32);
    return { caller, hash, sealed: vault.seal('{}', `idempotency:${caller}:${hash.toString('hex')}`) };
  });
  await t.sql(
    `insert into idempotency_keys (caller, key_hash, request_hash, created_id, response, created_at)
     select caller, key_hash, ''::bytea, 'x', sealed, now()
     from unnest($1::text[], $2::bytea[], $3::text[]) as r (caller, key_hash, sealed)`,
    [rows.map(({ caller }) => caller), rows.map(({ hash }) => hash), rows.map(({ sealed }) => sealed)],
  );
}

test('200 for every request during a rotation of the encryption key, killed in the middle; every signature is right', async () => {
  const first = await startWebhookApp({ ...settings, ...keys(old) });
  const nodes: TestApp[] = [first, await startApp({ ...settings, ...keys(old) }, first)];
  const everyNode = [...nodes];
  const load = await startLoad(nodes);
  const restart = async (index: number, variables: Record<string, string>) => {
    const started = await startApp({ ...settings, ...variables }, first);
    everyNode.push(started);
    nodes[index] = started;
    await load.phase();
  };
  const ended = (variables: Record<string, string>, ...options: string[]) =>
    rotate(environment(first.databaseUrl, { ...settings, ...variables }), ...options);
  const sealedWith = async (key: Buffer): Promise<number> => {
    const [row] = await first.sql<{ n: number }>(
      'select count(*)::int as n from idempotency_keys where starts_with(response, $1)',
      [createVault(key).currentPrefix],
    );
    return row?.n ?? 0;
  };

  await insertResponses(first);
  await load.phase();
  // Step 1: all nodes can read the new key. Step 2: they write with it.
  for (const index of [0, 1]) await restart(index, keys(old, next));
  for (const index of [0, 1]) await restart(index, keys(next, old));

  const wrong = await ended(keys(next, foreign));
  assert.equal(wrong.code, 1);
  assert.match(
    wrong.output,
    /encrypted with a key that is not configured \([0-9a-f]{16}\); nothing was changed/,
  );
  assert.equal(await sealedWith(next).then((rows) => rows < stored), true);
  assert.equal((await ended(keys(next, old), '--check')).code, 1);

  // Step 3, killed while it waits for a row in the middle.
  const blocker = await holdOpen(
    first.databaseUrl,
    `select from idempotency_keys where (caller, key_hash) = (
       select caller, key_hash from idempotency_keys
       where starts_with(response, '${createVault(old).currentPrefix}')
       order by caller, key_hash offset ${stored / 2} limit 1) for update`,
  );
  const before = await sealedWith(next);
  const killed = startCountersign(
    ['rotate-encryption-key'],
    environment(first.databaseUrl, { ...settings, ...keys(next, old) }),
  );
  await until(
    'some batches',
    async () => ((await sealedWith(next)) >= before + 200 ? true : undefined),
    killed,
  );
  killed.kill('SIGKILL');
  assert.equal(await killed.ended(), 'SIGKILL');
  await blocker.release();
  assert.ok((await sealedWith(old)) > 0, 'it was killed in the middle');
  await load.phase();
  const dry = await ended(keys(next, old), '--dry-run');
  assert.equal(dry.code, 0);
  assert.match(
    dry.output,
    /idempotency_keys\.response: \d+ with it, [1-9]\d* with another key, 0 plain, 0 unreadable/,
  );
  assert.equal((await ended(keys(next, old), '--check')).code, 1);

  const finished = await ended(keys(next, old));
  assert.equal(finished.code, 0, finished.output);
  assert.match(finished.output, /\d+ rows done, 0 left/);
  assert.equal(await sealedWith(old), 0);
  assert.equal((await ended(keys(next, old), '--check')).code, 0);

  // Step 4: the old key is removed.
  for (const index of [0, 1]) await restart(index, keys(next));
  await load.end();
  assert.equal((await ended(keys(next), '--check')).code, 0);

  const complaints = everyNode.flatMap(({ logs }) =>
    logs.filter((line) => /cannot be (opened|decrypted)/.test(line)),
  );
  assert.deepEqual(complaints, []);
  const actions = await first.sql<{ action: string; outcome: string }>(
    "select action, outcome from audit_events where action like 'encryption_key.%' order by event_id",
  );
  assert.deepEqual(
    actions.map(({ action, outcome }) => [action, outcome]),
    [
      ['encryption_key.rotation_started', 'success'],
      ['encryption_key.rotation_started', 'success'],
      ['encryption_key.rotation_ended', 'success'],
    ],
  );
});

test('a lost key: refuses; with --skip-unreadable names the rows, exits with 0, and records a success', async () => {
  const t = await startApp({ ...settings, ...keys(old) });
  const create = async () => {
    const payload = { name: 'Any', url: 'https://receiver.example/', events: ['agent.created'] };
    const answer = await t.call('POST', '/api/v1/webhooks', { token: await t.token(), payload });
    assert.equal(answer.status, 201, answer.text);
    return answer.json.id as string;
  };
  const [lost] = [await create(), await create()];
  await t.sql('update webhook_subscriptions set signing_secret = $1 where subscription_id = $2', [
    createVault(foreign).seal('whsec_lost', lost),
    lost,
  ]);
  const run = (...options: string[]) =>
    rotate(environment(t.databaseUrl, { ...settings, ...keys(next, old) }), ...options);
  const refused = await run();
  assert.equal(refused.code, 1);
  assert.match(refused.output, /1 row is encrypted with a key that is not configured/);

  const skipped = await run('--skip-unreadable');
  assert.equal(skipped.code, 0, skipped.output);
  assert.match(skipped.output, /1 row is encrypted with the key/);
  assert.ok(
    skipped.output.includes(
      `webhook_subscriptions.signing_secret ${lost}: no key decrypts it; its key is not configured`,
    ),
    skipped.output,
  );
  assert.equal((await run('--check')).code, 1);
  assert.equal((await run('--check', '--skip-unreadable')).code, 0);

  const ends = await t.sql<{ outcome: string; metadata: { rows: number; unreadable: number } }>(
    "select outcome, metadata from audit_events where action = 'encryption_key.rotation_ended'",
  );
  assert.deepEqual(
    ends.map(({ outcome, metadata: { rows, unreadable } }) => [outcome, rows, unreadable]),
    [['success', 1, 1]],
  );
});

test('refuses to rotate without a key, with the same key twice, with a key of another length, and without an operator', async () => {
  const t = await startApp(keys(old));
  const refusalOf = async (variables: Record<string, string>, url = t.databaseUrl) => {
    const { code, output } = await rotate(environment(url, variables));
    assert.equal(code, 1, output);
    return output;
  };
  assert.match(await refusalOf({}), /DATA_ENCRYPTION_KEY is missing/);
  assert.match(await refusalOf(keys(old, old)), /lists DATA_ENCRYPTION_KEY itself/);
  assert.match(
    await refusalOf(keys(Buffer.alloc(16))),
    /DATA_ENCRYPTION_KEY must be 32 bytes in base64, not 16/,
  );
  await t.sql("update agents set status = 'suspended'");
  assert.match(await refusalOf(keys(next, old)), /there is no operator/);
});
