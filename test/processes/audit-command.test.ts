/** `countersign audit …`, with the database and without. */
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openAudit } from '../../src/audit-app.ts';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { createLog } from '../../src/kernel/observability/log.ts';
import { runCommand } from '../support/command-line.ts';
import { environment, execute, startApp } from '../support/harness.ts';
import { auditLinks, recordEvents } from '../support/scenarios/audit-log.ts';

const t = await startApp();
const folder = mkdtempSync(join(tmpdir(), 'countersign-audit-'));
after(() => rmSync(folder, { recursive: true }));
const organizationId = t.app.ids.uuid();
for (const events of [5, 1, 4]) {
  await recordEvents(t, organizationId, events);
  await t.app.audit.linkAll();
}
const { DATABASE_URL, JWT_PRIVATE_KEY, JWT_PUBLIC_KEY } = environment(t.databaseUrl);
const online = { DATABASE_URL, JWT_PRIVATE_KEY, JWT_PUBLIC_KEY };
const offline = { JWT_PUBLIC_KEY };
const exported = join(folder, 'log.jsonl');
const noticed: string[] = [];

const audit = (env: Record<string, string>, ...args: string[]) =>
  runCommand(['audit', ...args], { env, cwd: folder });

const tamper = (text: string) => execute(t.databaseUrl, `set session_replication_role = replica; ${text}`);

const { json: newest } = await t.call(
  'GET',
  `/api/v1/audit/checkpoints?limit=1&organizationId=${organizationId}`,
  {
    token: await t.token(),
  },
);
const kept = join(folder, 'checkpoint');
writeFileSync(kept, `${JSON.stringify(newest.data[0])}\n`);

const write = (name: string, lines: readonly string[]): string => {
  const file = join(folder, name);
  writeFileSync(file, lines.join('\n'));
  return file;
};

describe('audit export and verify', () => {
  it('verifies in the database, and in an export with the public key alone', async () => {
    const direct = await audit(online, 'verify', '--checkpoint', kept);
    assert.equal(direct.code, 0, direct.output);
    assert.match(direct.stdout, /^The audit log is intact: \d+ events in 2 chains\.$/m);

    const exporting = await audit(online, 'export', '--output', exported);
    assert.equal(exporting.code, 0, exporting.output);
    const elsewhere = await audit(offline, 'verify', exported, '--checkpoint', kept);
    assert.equal(elsewhere.code, 0, elsewhere.output);
    assert.match(
      elsewhere.stdout,
      /^The export is intact: \d+ events in 2 chains\.\n {2}begun at +20\S+Z\n$/,
    );
  });

  it('exports one organization to standard output', async () => {
    const { code, stdout } = await audit(online, 'export', '--organization', organizationId);
    assert.equal(code, 0);
    const lines = stdout.trim().split('\n');
    assert.equal(lines.filter((line) => JSON.parse(line).kind === 'link').length, 10);
    const elsewhere = await audit(offline, 'verify', write('one.jsonl', lines));
    assert.equal(elsewhere.code, 0);
    assert.match(
      elsewhere.stdout,
      new RegExp(`10 events in 1 chain\\.\n.*\n {2}only of +${organizationId}\n$`),
    );
  });

  it('--organization takes a slug or a name, and lists the candidates', async () => {
    const other = t.app.ids.uuid();
    for (const [id, slug] of [
      [organizationId, 'acme'],
      [other, 'acme-two'],
    ])
      await t.sql(
        `insert into organizations (organization_id, name, slug, plan_tier, status, created_at, updated_at)
         values ('${id}', 'Acme ${slug === 'acme' ? 'One' : 'Two'}', '${slug}', 'free', 'active', now(), now())`,
      );
    for (const name of ['acme', 'Acme One', organizationId.toUpperCase()]) {
      const { code, output } = await audit(online, 'verify', '--organization', name);
      const isNamed = output.includes(`using organization acme (${organizationId})\n`);
      assert.equal(isNamed, /^acme/i.test(name), output);
      assert.equal(code, 0, output);
      assert.match(output, /intact: 10 events in 1 chain\.$/m);
    }
    const { stdout } = await audit(online, 'export', '--organization', 'Acme One');
    assert.equal(stdout.split('\n').filter((line) => line.includes('"kind":"link"')).length, 10);
    const unknown = await audit(online, 'verify', '--organization', 'Acme Tow');
    assert.equal(unknown.code, 5);
    assert.match(
      unknown.output,
      /^countersign: there is no organization Acme Tow in the database; give its id, slug or name; did you mean Acme Two\?$/m,
    );
    await t.sql("update organizations set name = 'Acme' where slug like 'acme%'");
    for (const command of ['verify', 'export']) {
      const ambiguous = await audit(online, command, '--organization', 'Acme');
      assert.equal(ambiguous.code, 2, ambiguous.output);
      assert.match(
        ambiguous.output,
        /^countersign: 2 things are called Acme .* one organization; give the id/m,
      );
      for (const [id, slug] of [
        [organizationId, 'acme'],
        [other, 'acme-two'],
      ])
        assert.ok(ambiguous.output.includes(`\n  ${id}  slug=${slug}  name=Acme  status=active\n`));
    }
  });

  it('export warns when the log is signed with another key; verify needs both keys', async () => {
    const { privatePem, publicPem } = generateKeyPair();
    const other = { DATABASE_URL, JWT_PRIVATE_KEY: privatePem, JWT_PUBLIC_KEY: publicPem };
    const file = join(folder, 'other.jsonl');
    const { code, output } = await audit(other, 'export', '--output', file);
    assert.equal(code, 0, output);
    assert.match(output, /^the log is signed with another key \(kid [\w-]+\)/m);
    const one = await audit(offline, 'verify', file);
    assert.equal(one.code, 1);
    assert.match(
      one.stdout,
      /^NOT INTACT: the last line of the export has no valid signature by a trusted key$/m,
    );
    const both = { JWT_PUBLIC_KEY, JWT_PREVIOUS_PUBLIC_KEYS: publicPem };
    assert.equal((await audit(both, 'verify', file)).code, 0);
  });

  it('exit 1: an unknown organization', async () => {
    const { code, output } = await audit(online, 'verify', '--organization', t.app.ids.uuid());
    assert.equal(code, 1);
    assert.match(output, /^countersign: the audit log has no events of organization [\w-]+$/m);
  });

  it('exit 1: an export of an unknown organization; no file is written', async () => {
    const file = join(folder, 'unknown.jsonl');
    const args = ['--organization', t.app.ids.uuid(), '--output', file];
    const { code, output } = await audit(online, 'export', ...args);
    assert.equal(code, 1);
    assert.match(output, /^countersign: the audit log has no events of organization [\w-]+$/m);
    assert.ok(!existsSync(file));
  });

  it('exit 1: a file that is no checkpoint', async () => {
    const [, claims, signature] = (newest?.signed ?? '').split('.');
    const otherType = Buffer.from('{"alg":"RS256","typ":"audit-key+jwt"}').toString('base64url');
    const files: readonly string[] = [
      'hello',
      '{"signed":5}',
      `{"data":[{"signed":"${newest?.signed}"}]}`,
      `${otherType}.${claims}.${signature}`,
    ];
    for (const [number, text] of files.entries()) {
      const file = write(`no-checkpoint-${number}`, [text]);
      const { code, output } = await audit(offline, 'verify', exported, '--checkpoint', file);
      assert.equal(code, 1, text);
      assert.match(output, /^countersign: \S+ is not a checkpoint: it must hold one entry of GET /m, text);
    }
  });

  it('exit 1: a folder instead of a file', async () => {
    for (const args of [
      ['verify', folder],
      ['verify', exported, '--checkpoint', folder],
      ['export', '--output', folder],
    ]) {
      const { code, output } = await audit(online, ...args);
      assert.equal(code, 1, args.join(' '));
      assert.match(output, /^countersign: \S+ is a folder; name /m);
      assert.doesNotMatch(output, /EISDIR/);
    }
  });

  it('exit 1: an unlinked event was changed, in an organization without a chain', async () => {
    const young = t.app.ids.uuid();
    await recordEvents(t, young, 3);
    const change = (from: string, to: string) =>
      tamper(
        `update audit_events set outcome = '${to}' where outcome = '${from}' and organization_id = '${young}'`,
      );
    await change('success', 'failure');
    const { code, stdout } = await audit(online, 'verify');
    await change('failure', 'success');
    // The sequencer did not link the changed rows, and looks at them again only after a reset.
    await tamper("update audit_progress set settled_before = '0'");
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`^NOT INTACT: [\\s\\S]*organization {2}${young}`));
    assert.equal((await audit(online, 'verify')).code, 0);
  });

  it('exit 1: the whole chain was deleted, and its events are left', async () => {
    const orphaned = t.app.ids.uuid();
    await recordEvents(t, orphaned, 3);
    await t.app.audit.linkAll();
    const evidence = ['audit_segments'];
    const take = evidence.map(
      (table) =>
        `create table kept_${table} as select * from ${table} where organization_id = '${orphaned}';` +
        `delete from ${table} where organization_id = '${orphaned}'`,
    );
    // The state when no transaction of this server is open any more that was open when the events were linked.
    // `written_in` marks the row as the sequencer's; otherwise the sequencer starts over.
    const settled = `update audit_progress set settled_before = pg_snapshot_xmax(pg_current_snapshot()),
                                               written_in = pg_current_xact_id()`;
    const giveBack = evidence.map((table) => `insert into ${table} select * from kept_${table}`);
    await tamper([settled, ...take].join(';'));
    const { code, stdout } = await audit(online, 'verify');
    const watching = await openAudit({
      database: { url: t.databaseUrl },
      signingKeys: {
        privateKey: createPrivateKey(JWT_PRIVATE_KEY),
        publicKey: createPublicKey(JWT_PUBLIC_KEY),
      },
      previousPublicKeys: [],
      witnesses: undefined,
      issuer: 'http://localhost:3000',
      log: createLog({ level: 'error', destination: { write: (line) => void noticed.push(line) } }),
    });
    while (!(await watching.audit.watch()));
    await watching.close();
    await tamper(giveBack.join(';'));
    assert.equal(code, 1);
    assert.match(stdout, /^NOT INTACT: tree head \d+ signs .*\n {2}code +TREE_LEAVES_MISSING$/m);
    assert.match(noticed.join(), new RegExp(`NOT INTACT.*${orphaned}|${orphaned}.*NOT INTACT`));
    assert.equal((await audit(online, 'verify')).code, 0);
  });

  it('exit 1: a changed export, naming an edited event', async () => {
    const lines = readFileSync(exported, 'utf8').trim().split('\n');
    const link = lines.findIndex((line) =>
      line.includes(`"organizationId":"${organizationId}","sequence":7`),
    );
    const { eventId } = JSON.parse(lines[link] as string);
    const changes: Record<string, readonly string[]> = {
      edited: lines.with(link, (lines[link] as string).replace('192.0.2.1', '192.0.2.2')),
      'left out': lines.toSpliced(link, 1),
      swapped: lines.with(link, lines[link + 1] as string).with(link + 1, lines[link] as string),
      'cut off': lines.slice(0, link),
      'without a checkpoint': lines.toSpliced(
        lines.findLastIndex((line) => line.includes('"kind":"checkpoint"')),
        1,
      ),
      'no JSON': lines.with(link, '{'),
      'a field twice': lines.with(
        link,
        (lines[link] as string).replace('"sequence":7', '"sequence":8,"sequence":7'),
      ),
    };
    for (const [what, changed] of Object.entries(changes)) {
      const { code, stdout } = await audit(offline, 'verify', write('changed.jsonl', changed));
      assert.equal(code, 1, what);
      assert.match(stdout, /^NOT INTACT: /, what);
      if (what === 'edited') assert.ok(stdout.includes(eventId), stdout);
    }
  });

  it('exit 1: an organization was deleted from an export, with or without an edited last line', async () => {
    const lines = readFileSync(exported, 'utf8').trim().split('\n');
    const end = JSON.parse(lines.at(-1) as string);
    const rest = lines.filter((line) => !line.includes(organizationId));
    const edited = JSON.stringify({ ...end, chains: 1, events: end.events - 10 });
    const signed = await audit(offline, 'verify', write('deleted.jsonl', rest.with(-1, edited)));
    assert.equal(signed.code, 1);
    assert.match(
      signed.stdout,
      /^NOT INTACT: the export has another number of chains \(1\) than its signed statement \(2\)$/m,
    );

    const old = JSON.stringify({ kind: 'end', chains: 1, events: end.events - 10 });
    const unsigned = await audit(offline, 'verify', write('deleted.jsonl', rest.with(-1, old)));
    assert.equal(unsigned.code, 1);
    assert.match(
      unsigned.stdout,
      /^NOT PROVEN: the end of the export is not signed, so whole chains may be missing/,
    );
    assert.doesNotMatch(unsigned.stdout, /The export is intact/);
  });

  it('exit 1: an export checked with an unrelated key', async () => {
    const { publicPem } = generateKeyPair();
    const { code, stdout } = await audit({ JWT_PUBLIC_KEY: publicPem }, 'verify', exported);
    assert.equal(code, 1);
    assert.match(stdout, /signing key 1 is signed by no trusted key/);
  });

  it('exit 1: an edited row in the database, naming the event', async () => {
    const [row] = await t.sql<{ id: string; action: string }>(
      `select event_id as id, action from ${auditLinks} l join audit_events using (event_id)
       where l.organization_id = $1 and sequence = 3`,
      [organizationId],
    );
    await tamper(`update audit_events set action = 'x' where event_id = '${row?.id}'`);
    const { code, stdout } = await audit(online, 'verify', '--organization', organizationId);
    assert.equal(code, 1);
    assert.match(stdout, /NOT INTACT: the hash of the event is not the hash in its link/);
    assert.match(stdout, new RegExp(`sequence +3\\n +event +${row?.id}`));
    await tamper(`update audit_events set action = '${row?.action}' where event_id = '${row?.id}'`);
  });

  it('exit 1: a chain truncated with its checkpoint, which the tree heads and an external checkpoint show', async () => {
    await tamper(
      `delete from audit_events where event_id in
         (select event_id from ${auditLinks} l where organization_id = '${organizationId}' and sequence > 6);
       delete from audit_segments where organization_id = '${organizationId}' and size > 6`,
    );
    const { code, stdout } = await audit(online, 'verify', '--checkpoint', kept);
    assert.equal(code, 1);
    assert.match(stdout, /TREE_LEAVES_MISSING|the external checkpoint 3 is not in the log/);
    const { output } = await audit(online, 'export', '--output', exported);
    const shortened = await audit(offline, 'verify', exported, '--checkpoint', kept);
    assert.equal(shortened.code, 1, output);
    assert.match(shortened.stdout, /the external checkpoint is not in the log/);
  });

  it('exit 1 with one line for invalid arguments', async () => {
    for (const args of [
      ['verify', join(folder, 'nowhere')],
      ['verify', '--checkpoint', join(folder, 'nowhere')],
      ['verify', exported, '--organization', organizationId],
      ['export', '--output', join(folder, 'no', 'where')],
    ]) {
      const { code, output } = await audit(online, ...args);
      assert.equal(code, 1, args.join(' '));
      assert.match(output, /^countersign: /m);
      assert.doesNotMatch(output, /^ +at /m);
    }
    assert.match((await audit({}, 'verify')).output, /JWT_PRIVATE_KEY/);
  });
});
