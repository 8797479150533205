/**
 * The rolling upgrade of docs/operations/upgrade.md under load: two nodes of an older version, then both versions side by side, then
 * the newer one alone, then back. The older version is this source tree, whose code may need its newest migration; the newer one has
 * a further migration, which changes tables of the token path. UPGRADE_FROM names the folder of a real older version instead (a checkout with
 * its node_modules): then this tree is the newer version, and the way back is left out.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { createEmptyDatabase, environment, execute, newAgent, skipWithout } from '../support/harness.ts';
import { authorityFile, type Receiver, startReceiver } from '../support/peers/receivers.ts';
import { askToken, authorize, type Client, type Service, startRedis, until } from '../support/programs.ts';
import {
  migrationsIn,
  serveVersion,
  startVersion,
  type Version,
  versionWith,
} from '../support/scenarios/versions.ts';

/** Changes that the next version may make to tables of the older code: see "Promises of a version" in docs/operations/upgrade.md. */
const nextMigration = `
  alter table agents add column next_note text;
  alter table credentials add column next_count integer not null default 0;
  alter table webhook_subscriptions add column next_flag boolean not null default false;
  create index agents_next on agents (next_note) where next_note is not null;
  create table next_things (id uuid primary key references agents on delete cascade, at timestamptz not null default now());
  create function next_thing() returns trigger language plpgsql as
    $$ begin insert into next_things (id) values (new.agent_id); return null; end $$;
  create trigger next_thing after insert on agents for each row execute function next_thing();`;

const numbered = (number: number, name: string) => `${String(number).padStart(4, '0')}_${name}.sql`;

function chooseVersions(): { older: Version; newer: Version; isReal: boolean } {
  const from = process.env.UPGRADE_FROM;
  if (from) {
    const older = { folder: from, migrations: migrationsIn(from) };
    return { older, newer: versionWith({}), isReal: true };
  }
  const older = versionWith({});
  const next = numbered(older.migrations.length + 1, 'next_version');
  return { older, newer: versionWith({ [next]: nextMigration }), isReal: false };
}

interface Node {
  readonly service: Service;
  inFlight: number;
  /** Rounds of load since the last change of nodes. */
  rounds: number;
}

/** Every request must succeed. The results are kept, to be found in the database at the end. */
function startLoad(nodes: Node[], operator: Client, receiver: Receiver) {
  const done = { tokenIds: [] as string[], agentIds: [] as string[], deliveryIds: [] as string[] };
  const hasArrived = (id: string | undefined) =>
    receiver.received.some(({ headers }) => headers['webhook-id'] === id);
  let over = false;
  let turn = 0;
  const send = async (request: (url: string) => Promise<Response>) => {
    const node = nodes[turn++ % nodes.length] as Node;
    node.inFlight += 1;
    try {
      const response = await request(node.service.url);
      const text = await response.text();
      assert.ok(response.ok, `${response.url}: ${response.status} ${text}`);
      node.rounds += 1;
      return text === '' ? undefined : JSON.parse(text);
    } finally {
      node.inFlight -= 1;
    }
  };
  const issue = async (client: Client): Promise<string> => {
    const { access_token } = await send((url) => askToken(url, client));
    done.tokenIds.push(decodeJwt(access_token).jti ?? '');
    return access_token;
  };
  const round = async () => {
    const token = await issue(operator);
    const call = (method: string, path: string, body?: object) =>
      send((url) =>
        fetch(`${url}/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
          ...(body && { body: JSON.stringify(body) }),
        }),
      );
    const { agentId } = await call('POST', '/agents', newAgent());
    done.agentIds.push(agentId);
    const { clientId, clientSecret } = await call('POST', `/agents/${agentId}/credentials`);
    await issue({ clientId, clientSecret });
    assert.equal(
      (
        await send((url) =>
          fetch(`${url}/api/v1/agents/${agentId}`, { headers: { authorization: `Bearer ${token}` } }),
        )
      ).agentId,
      agentId,
    );
    const webhook = { name: 'Load', url: receiver.url, events: ['agent.suspended'] };
    const { id } = await call('POST', '/webhooks', webhook);
    done.deliveryIds.push((await call('POST', `/webhooks/${id}/test`)).id);
    await call('GET', '/audit?limit=5');
    // The delivery must arrive before the subscription ends.
    await until('a delivery', async () => hasArrived(done.deliveryIds.at(-1)) || undefined);
    await call('DELETE', `/webhooks/${id}`);
    await sleep(20);
  };
  const running = (async () => {
    while (!over) await round();
  })();
  const issuing = (async () => {
    while (!over) {
      await issue(operator);
      await sleep(20);
    }
  })();
  const both = Promise.all([running, issuing]);
  both.catch(() => {
    over = true;
  });
  return {
    done,
    /** Until each node has answered enough requests. */
    async phase() {
      for (const node of nodes) node.rounds = 0;
      await until('a phase', async () => {
        if (over) await both;
        return nodes.every(({ rounds }) => rounds >= 16) || undefined;
      });
    },
    async end() {
      over = true;
      await both;
    },
  };
}

test('200 for every request while nodes are upgraded one at a time, and back; nothing is lost; the audit log verifies', async (t) => {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const { older, newer, isReal } = chooseVersions();
  const databaseUrl = await createEmptyDatabase();
  const receiver = await startReceiver();
  const env = {
    ...environment(databaseUrl, {
      REDIS_URL: redis.url,
      LOG_LEVEL: 'warn',
      WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
    }),
    DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    NODE_EXTRA_CA_CERTS: authorityFile,
  };
  const run = async (version: Version, ...args: string[]) => {
    const program = startVersion(version, args, env);
    assert.equal(await program.gone(), 0, program.output());
    return program.stdout();
  };
  const operator: Client = JSON.parse(await run(older, 'bootstrap', '--json'));
  const applied = async () =>
    (await execute<{ name: string }>(databaseUrl, 'select name from schema_migrations order by version')).map(
      ({ name }) => `${name}.sql`,
    );
  assert.deepEqual(await applied(), older.migrations);

  const programs: Service['program'][] = [];
  const start = async (version: Version): Promise<Node> => {
    const service = await serveVersion(version, env);
    programs.push(service.program);
    return { service, inFlight: 0, rounds: 0 };
  };
  const nodes = [await start(older), await start(older)];
  const load = startLoad(nodes, operator, receiver);
  /** The load balancer removes the node before it stops. */
  const stop = async (node: Node) => {
    nodes.splice(nodes.indexOf(node), 1);
    await until('the requests under way', async () => node.inFlight === 0 || undefined);
    node.service.program.kill('SIGTERM');
    assert.equal(await node.service.program.gone(), 0, node.service.program.output());
  };
  /** The new node is ready before the old one leaves. */
  const replace = async (node: Node, version: Version) => {
    nodes.push(await start(version));
    await stop(node);
    await load.phase();
  };
  const [one, two] = nodes as [Node, Node];
  await load.phase();

  const folder = mkdtempSync(join(tmpdir(), 'countersign-upgrade-'));
  after(() => rmSync(folder, { recursive: true }));
  const checkpoint = join(folder, 'checkpoint.json');
  if (!isReal) {
    // Kept from before the upgrade: the log must still contain it at the end.
    const kept = await until('a checkpoint', async () => {
      const path = `${one.service.url}/api/v1/audit/checkpoints?limit=1`;
      const answer = await fetch(path, { headers: await authorize(one.service.url, operator) });
      return ((await answer.json()) as { data: object[] }).data[0];
    });
    writeFileSync(checkpoint, JSON.stringify(kept));
  }

  // The first new node applies the migrations while the old ones serve.
  await replace(one, newer);
  assert.deepEqual(await applied(), newer.migrations);
  // An old node that is restarted in between starts, and says that it is the older one.
  await replace(two, older);
  const restarted = nodes.at(-1) as Node;
  assert.match(
    restarted.service.program.output(),
    /the database has migrations of a newer version; continuing without them/,
  );
  await replace(restarted, newer);
  if (!isReal) for (const node of [...nodes]) await replace(node, older);
  await load.end();
  for (const node of [...nodes]) await stop(node);

  const missing = async (ids: readonly string[], query: string) => {
    const found = await execute<{ id: string }>(databaseUrl, query, [ids]);
    const present = new Set(found.map(({ id }) => id));
    return ids.filter((id) => !present.has(id));
  };
  const { tokenIds, agentIds, deliveryIds } = load.done;
  assert.ok(
    tokenIds.length > 100 && agentIds.length > 10,
    `${tokenIds.length} tokens, ${agentIds.length} agents`,
  );
  assert.deepEqual(
    await missing(agentIds, 'select agent_id as id from agents where agent_id = any ($1::uuid[])'),
    [],
  );
  for (const [action, field, ids] of [
    ['token.issued', 'tokenId', tokenIds],
    ['agent.created', 'agentId', agentIds],
  ] as const)
    assert.deepEqual(
      await missing(
        ids,
        `select coalesce(metadata ->> '${field}', agent_id::text) as id from audit_events
         where action = '${action}' and coalesce(metadata ->> '${field}', agent_id::text) = any ($1::text[])`,
      ),
      [],
      `${action} of every answer is in the audit log`,
    );
  const arrived = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
  assert.deepEqual(
    deliveryIds.filter((id) => !arrived.has(id)),
    [],
  );
  assert.match(
    await run(newer, 'audit', 'verify', ...(isReal ? [] : ['--checkpoint', checkpoint])),
    /The audit log is intact/,
  );
  const complaints = programs.flatMap((program) =>
    program
      .output()
      .split('\\n')
      .filter((line) => /THE AUDIT LOG IS NOT INTACT|"msg":"request failed"/.test(line)),
  );
  assert.deepEqual(complaints, []);
});
