/** Kills the process repeatedly while it writes and links: no acknowledged event is lost, and verification succeeds. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, environment, execute } from '../support/harness.ts';
import {
  askToken,
  authorize,
  freePort,
  makeOperator,
  startCountersign,
  startServe,
  untilHealthy,
} from '../support/programs.ts';
import { repetitions } from '../support/repetitions.ts';
import { auditLinks } from '../support/scenarios/audit-log.ts';

const kills = repetitions(5, 20);
const clients = 12;
/** Tokens issued by the last kill; docs/performance.md reports a run with AUDIT_EVENTS=100000. */
const events = Number(process.env.AUDIT_EVENTS || repetitions(500, 2_000));
/** Long enough for larger runs. */
const timeout = 3_600_000;

test(`every token has its event and the log verifies after ${kills} kills during ${events} tokens`, {
  timeout,
}, async () => {
  const databaseUrl = await createDatabase();
  const env = environment(databaseUrl);
  const operator = await makeOperator(env);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const tokens: string[] = [];
  let over = false;

  const client = async () => {
    while (!over) {
      const answer = await askToken(url, operator)
        .then(async (response) => (response.status === 200 ? response.json() : undefined))
        .catch(() => undefined);
      if (answer) tokens.push((answer as { access_token: string }).access_token);
      // No faster: a starting process needs the CPU.
      else await sleep(100);
    }
  };
  const load = Promise.all(Array.from({ length: clients }, client));

  for (let kill = 0; kill < kills; kill += 1) {
    const program = startCountersign(['serve'], { ...env, HOST: '127.0.0.1', PORT: String(port) });
    await untilHealthy(port, program);
    while (tokens.length < (events / kills) * (kill + 1)) await sleep(5);
    // Each kill hits another phase of the sequencer's interval.
    await sleep(50 + ((kill * 137) % 500));
    program.kill('SIGKILL');
    await program.ended();
  }
  over = true;
  await load;

  const { url: last } = await startServe(env);
  const headers = await authorize(last, operator);
  const { verified, checkedCount } = (await (
    await fetch(`${last}/api/v1/audit/verify`, { headers })
  ).json()) as { verified: boolean; checkedCount: number };
  assert.equal(verified, true);
  const issued = await execute<{ id: string }>(
    databaseUrl,
    "select metadata ->> 'tokenId' as id from audit_events where action = 'token.issued'",
  );
  assert.ok(checkedCount >= issued.length);
  const recorded = new Set(issued.map(({ id }) => id));
  const idOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti;
  assert.deepEqual(
    tokens.map(idOf).filter((id) => !recorded.has(id)),
    [],
  );
  assert.ok(tokens.length >= events, `only ${tokens.length} tokens`);
  const [linked] = await execute(
    databaseUrl,
    `select count(*) = count(distinct event_id) as once, count(*) = count(distinct (organization_id, sequence)) as straight
     from ${auditLinks} l`,
  );
  assert.deepEqual(linked, { once: true, straight: true });
});
