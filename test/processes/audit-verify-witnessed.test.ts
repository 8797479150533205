/** From an event to a proof by witnesses: the database, its export by the command, and the export over HTTP, of one instance. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { runCommand } from '../support/command-line.ts';
import { environment, startApp } from '../support/harness.ts';
import {
  folder,
  newLogKey,
  startWitness,
  verifierKeyOf,
  witnessVariables,
} from '../support/peers/witnesses.ts';
import { recordEvents } from '../support/scenarios/audit-log.ts';

const AUDIT_LOG_KEY = newLogKey();
const logKey = verifierKeyOf(AUDIT_LOG_KEY);

it('intact and witnessed at a time by a name, and how many events are newer', async () => {
  const witness = await startWitness('witness.example/log', [logKey]);
  const witnesses = witnessVariables([witness], 1);
  const t = await startApp({ AUDIT_LOG_KEY, ...witnesses });
  const organizationId = t.app.ids.uuid();
  const record = async (events: number) => {
    await recordEvents(t, organizationId, events);
    await t.app.audit.linkAll();
    await t.app.instanceLog.grow();
  };
  await record(2);
  assert.equal(await t.app.instanceLog.witness(), 'done');
  await record(2);

  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    runCommand(['audit', ...args], { env, cwd: folder });
  const keys = ['--log-key', logKey, '--witness', witness.line.split(' ')[0] ?? ''];
  const says = /intact and witnessed at \d{4}-\S+Z by witness\.example\/log: /;
  const server = { ...environment(t.databaseUrl), ...witnesses };
  // The keys decide, not the list of the server.
  for (const env of [server, environment(t.databaseUrl)])
    assert.match((await run(['verify', ...keys], env)).stdout, says);

  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('jwks.json', (await t.call('GET', '/.well-known/jwks.json')).text);
  const token = await t.token();
  const query = `?organizationId=${organizationId}`;
  write('http.jsonl', (await t.call('GET', `/api/v1/audit/export${query}`, { token })).text);
  const exported = await run(
    ['export', '--organization', organizationId, '--output', 'command.jsonl'],
    server,
  );
  assert.equal(exported.code, 0, exported.stderr);
  for (const file of ['http.jsonl', 'command.jsonl']) {
    const { stdout } = await run(['verify', file, '--keys', 'jwks.json', ...keys]);
    assert.match(stdout, says);
    assert.match(stdout, /not witnessed 2 events, newer/);
  }
});
