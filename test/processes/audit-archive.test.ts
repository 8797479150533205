/** `countersign audit archive`: a round with the database; everything else with files and keys alone. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { zstdCompressSync } from 'node:zlib';
import { formatVerifierKey } from '../../sdk/typescript/src/transparency/verifier-key.ts';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { runCommand } from '../support/command-line.ts';
import { createTestClock, environment, startApp, type TestApp } from '../support/harness.ts';
import {
  cosignBody,
  createCosigner,
  folder,
  newLogKey,
  startFakeWitness,
  verifierKeyOf,
  witnessVariables,
} from '../support/peers/witnesses.ts';
import { dayMs, dayOf, toNextDay } from '../support/scenarios/archive.ts';
import { recordEvents } from '../support/scenarios/audit-log.ts';

const archive = join(folder, 'archive');
mkdirSync(archive);
const AUDIT_LOG_KEY = newLogKey();
const logKey = verifierKeyOf(AUDIT_LOG_KEY);
/** Days before now, so that a command with the real clock archives them. */
const started = Date.now();
const clock = createTestClock();
clock.advance(-6 * dayMs);
const witness = await startFakeWitness('witness.example/log', (signer) => async ({ body }, response) => {
  const time = Math.floor(clock.now() / 1_000);
  response.end(await cosignBody(String(body), signer, { time }));
});
const witnesses = witnessVariables([witness], 1);
const AUDIT_ARCHIVE_URL = pathToFileURL(archive).href;
const variables = { AUDIT_LOG_KEY, AUDIT_ARCHIVE_URL, ...witnesses };

const t = await startApp(variables, undefined, { clock });
toNextDay(t);
const [one, two] = [t.app.ids.uuid(), t.app.ids.uuid()].sort() as [string, string];
const witnessed = async (app: TestApp) => {
  await app.app.audit.linkAll();
  await app.app.instanceLog.grow();
  app.clock.advance(1_000);
  assert.equal(await app.app.instanceLog.witness(), 'done');
};
const days: string[] = [];
for (let count = 1; count <= 4; count += 1) {
  await t.app.audit.prepare();
  days.push(dayOf(t.clock.now()));
  await recordEvents(t, one, 3 * count);
  await t.app.audit.linkAll();
  await recordEvents(t, one, 1);
  if (count !== 2) await recordEvents(t, two, 2);
  await witnessed(t);
  toNextDay(t);
}
t.clock.advance(started - t.clock.now());

const jwks = join(folder, 'jwks.json');
writeFileSync(jwks, (await t.call('GET', '/.well-known/jwks.json')).text);
const command = (args: readonly string[], env: Record<string, string> = {}) =>
  runCommand(['audit', ...args], { env, cwd: folder });
const trust = ['--keys', jwks, '--log-key', logKey, '--witness', witness.line.split(' ')[0] ?? ''];
const server = { ...environment(t.databaseUrl), ...variables };
const [first, second, third, last] = days as [string, string, string, string];
const nameOf = (organizationId: string, day: string) =>
  join(organizationId, `${day.replaceAll('-', '/')}.jsonl.zst`);
const manifestOf = (name: string) => name.replace('.jsonl.zst', '.manifest.json');

describe('countersign audit archive run', () => {
  it('archives the days that are over, each organization for itself, and nothing the second time', async () => {
    const { code, stdout, stderr } = await command(['archive', 'run'], server);
    assert.equal(code, 0, stderr);
    const lines = stdout.trim().split('\n');
    for (const [organizationId, day, events] of [
      [one, first, 4],
      [one, last, 13],
      [two, third, 2],
    ])
      assert.ok(
        lines.some((line) => line.startsWith(`${day}  ${organizationId}  ${events} events, `)),
        stdout,
      );
    assert.ok(!stdout.includes(`${second}  ${two}`));
    const again = await command(['archive', 'run'], server);
    assert.deepEqual([again.code, again.stdout], [0, '']);
    assert.match(again.stderr, /^0 days archived\.$/m);
  });

  it('shows the events of the day so far on a terminal, and only there', async () => {
    const again = join(folder, 'again');
    mkdirSync(again);
    const url = pathToFileURL(again).href;
    await t.sql('create table listed as table audit_archives');
    await t.sql('delete from audit_archives');
    const { code, stderr } = await runCommand(['audit', 'archive', 'run', '--url', url], {
      ...{ env: server, cwd: folder },
      columns: 120,
    });
    await t.sql('delete from audit_archives');
    await t.sql('insert into audit_archives table listed');
    assert.equal(code, 0, stderr);
    const shown = stderr.split('\r\u001b[K');
    for (const [day, organizationId, events] of [
      [first, one, 4],
      [last, one, 13],
      [third, two, 2],
    ])
      assert.ok(shown.includes(`${day}  ${organizationId}  ${events} events`), stderr);
  });

  it('1: refuses another key, and says so while another process archives', async () => {
    const other = generateKeyPair();
    const foreign = await command(['archive', 'run'], {
      ...server,
      JWT_PRIVATE_KEY: other.privatePem,
      JWT_PUBLIC_KEY: other.publicPem,
    });
    assert.deepEqual([foreign.code, foreign.stdout], [1, '']);
    assert.match(foreign.stderr, /signed with another key \(kid /);
    await t.sql("update audit_archive_state set round_ends_at = now() + interval '1 minute'");
    const busy = await command(['archive', 'run'], server);
    await t.sql('update audit_archive_state set round_ends_at = null');
    assert.equal(busy.code, 1);
    assert.match(busy.stderr, /another process archives now/);
  });

  it('1: names each day that cannot be archived', async () => {
    const missing = pathToFileURL(join(folder, 'missing')).href;
    await t.sql('create table kept as table audit_archives');
    await t.sql('delete from audit_archives');
    const { code, stderr } = await command(['archive', 'run', '--url', missing], server);
    await t.sql('insert into audit_archives table kept');
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(`^NOT ARCHIVED: ${first}  \\S+  file:.*create it, or mount its disk`, 'm'),
    );
    assert.match(stderr, /^0 days archived, 3 not\.$/m);
  });
});

describe('countersign audit archive list and get', () => {
  it('lists the days of an organization, or of a range', async () => {
    const { code, stdout } = await command(['archive', 'list', '--organization', one], { AUDIT_ARCHIVE_URL });
    const rows = stdout.trim().split('\n').slice(1);
    assert.equal(code, 0);
    assert.deepEqual(
      rows.map((row) => row.split(/ +/).slice(0, 3)),
      [
        [first, one, '4'],
        [second, one, '7'],
        [third, one, '10'],
        [last, one, '13'],
      ],
    );
    const ranged = await command([
      'archive',
      'list',
      '--url',
      AUDIT_ARCHIVE_URL,
      '--from',
      second,
      '--to',
      second,
      '--json',
    ]);
    const manifests = ranged.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.ok(manifests.length > 0 && manifests.every(({ date }) => date === second));
  });

  it('gets a file, which `audit verify` reads', async () => {
    const { code, stdout } = await command(
      ['archive', 'get', last, '--organization', one, '--output', 'day.zst'],
      {
        AUDIT_ARCHIVE_URL,
      },
    );
    assert.deepEqual([code, stdout], [0, 'day.zst\n']);
    const verified = await command(['verify', 'day.zst', ...trust]);
    assert.equal(verified.code, 0, verified.output);
    assert.match(verified.stdout, /intact and witnessed at .* by witness\.example\/log: 13 events/);
    assert.match(verified.stdout, new RegExp(`only day {6}${last}`));
    const piped = await command(['archive', 'get', last, '--organization', one, '--output', '-'], {
      AUDIT_ARCHIVE_URL,
    });
    assert.equal(piped.code, 0);
  });

  it('5: no such day; 1: no archive, no day', async () => {
    const none = await command(['archive', 'get', '2001-01-01', '--organization', one], {
      AUDIT_ARCHIVE_URL,
    });
    assert.equal(none.code, 5);
    assert.match(none.stderr, /`countersign audit archive list` shows the days/);
    const [nowhere, noDay] = await Promise.all([
      command(['archive', 'list']),
      command(['archive', 'list', '--from', '2030-02-31'], { AUDIT_ARCHIVE_URL }),
    ]);
    assert.match(nowhere.stderr, /set AUDIT_ARCHIVE_URL, or give --url/);
    assert.match(noDay.stderr, /--from is a day, such as/);
  });
});

let copies = 0;
/** Verifies a copy of the archive after a change. */
async function verifyAfter(change: (root: string) => void, args: readonly string[] = []) {
  copies += 1;
  const copy = join(folder, `copy-${copies}`);
  cpSync(archive, copy, { recursive: true });
  change(copy);
  return command(['archive', 'verify', '--url', pathToFileURL(copy).href, ...trust, ...args]);
}
const replace = (path: string, content: string | Uint8Array) => {
  rmSync(path);
  writeFileSync(path, content);
};

describe('countersign audit archive verify', () => {
  it('0: intact and witnessed, with nothing but the files and keys', async () => {
    const { code, stdout, output } = await verifyAfter(() => {});
    assert.equal(code, 0, output);
    assert.match(stdout, new RegExp(`^${one}  ${first} to ${last}: 4 days, 34 events, intact$`, 'm'));
    assert.match(stdout, new RegExp(`^${two}  ${first} to ${last}: 3 days, 6 events, intact$`, 'm'));
    assert.match(stdout, /^The archive is intact and witnessed: /m);
  });

  it('0: a range of days says that earlier links are not in it', async () => {
    const { code, stdout } = await verifyAfter(() => {}, ['--organization', one, '--from', third]);
    assert.equal(code, 0);
    assert.match(stdout, /2 days, 23 events, intact; 11 earlier links are not in what was verified/);
  });

  const cases: readonly [string, (root: string) => void, RegExp][] = [
    [
      'a removed day',
      (root) => {
        rmSync(join(root, nameOf(one, second)));
        rmSync(join(root, manifestOf(nameOf(one, second))));
      },
      /one or more days are missing: 7 links between the day/,
    ],
    ['a removed file', (root) => rmSync(join(root, nameOf(one, last))), /ARCHIVE_FILE_MISSING/],
    [
      'a removed manifest',
      (root) => rmSync(join(root, manifestOf(nameOf(one, last)))),
      /ARCHIVE_MANIFEST_MISSING/,
    ],
    [
      'a changed byte',
      (root) => {
        const path = join(root, nameOf(one, second));
        const bytes = readFileSync(path);
        bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
        replace(path, bytes);
      },
      /NOT INTACT/,
    ],
    [
      'a byte after the end',
      (root) => {
        const path = join(root, nameOf(one, second));
        replace(path, Buffer.concat([readFileSync(path), Buffer.of(0)]));
      },
      /NOT INTACT/,
    ],
    [
      'the end cut off',
      (root) => {
        const path = join(root, nameOf(one, second));
        replace(path, readFileSync(path).subarray(0, -20));
      },
      /ARCHIVE_FILE_DAMAGED|EXPORT_TRUNCATED/,
    ],
    [
      'a swapped file',
      (root) => {
        const [from, to] = [second, third].map((day) => join(root, nameOf(one, day))) as [string, string];
        renameSync(from, `${from}.x`);
        renameSync(to, from);
        renameSync(`${from}.x`, to);
      },
      new RegExp(`the file has the day ${third} of organization ${one}`),
    ],
    [
      'the file of another organization',
      (root) => {
        mkdirSync(dirname(join(root, nameOf(two, second))), { recursive: true });
        for (const name of [nameOf, (...of: [string, string]) => manifestOf(nameOf(...of))])
          cpSync(join(root, name(one, second)), join(root, name(two, second)));
      },
      new RegExp(`the file has the day ${second} of organization ${one}`),
    ],
    [
      'a manifest that lies',
      (root) => {
        const path = join(root, manifestOf(nameOf(one, second)));
        replace(path, readFileSync(path, 'utf8').replace('"events": 7', '"events": 6'));
      },
      /events is 7, and the manifest says 6/,
    ],
    [
      'a manifest that lies about the time alone',
      (root) => {
        const path = join(root, manifestOf(nameOf(one, second)));
        replace(path, readFileSync(path, 'utf8').replace(/"createdAt": "\d{4}/, '"createdAt": "2001'));
      },
      /ARCHIVE_MANIFEST_NOT_SIGNED/,
    ],
    [
      'a newest file with keys that are none',
      (root) =>
        replace(
          join(root, nameOf(one, last)),
          zstdCompressSync('{"kind":"export","version":2}\n{"kind":"key"}\n'),
        ),
      /EXPORT_LINE_INVALID/,
    ],
    [
      'a newest file that begins without end',
      (root) =>
        replace(
          join(root, nameOf(one, last)),
          zstdCompressSync('{"kind":"export","version":2}\n'.repeat(3_000_000)),
        ),
      /EXPORT_HEADER_INVALID/,
    ],
    [
      'a newest file of empty lines',
      (root) => replace(join(root, nameOf(one, last)), zstdCompressSync('\n'.repeat(100_000_000))),
      /EXPORT_LINE_INVALID/,
    ],
    [
      'a manifest that is none',
      (root) => replace(join(root, manifestOf(nameOf(one, second))), '{}'),
      /ARCHIVE_MANIFEST_INVALID/,
    ],
  ];
  for (const [what, change, expected] of cases)
    it(`1: ${what}; the other days are verified, too`, async () => {
      const { code, stdout, output } = await verifyAfter(change);
      assert.equal(code, 1, output);
      assert.match(stdout, expected);
      assert.match(stdout, new RegExp(`^${two}  ${first} to ${last}: `, 'm'));
      assert.match(stdout, /The archive is NOT INTACT/);
    });

  it('1: keys of another instance, and a witness that has not cosigned', async () => {
    const foreign = join(folder, 'foreign.json');
    writeFileSync(
      foreign,
      JSON.stringify({
        keys: [{ ...JSON.parse(readFileSync(jwks, 'utf8')).keys[0], n: 'AQAB', kid: 'other' }],
      }),
    );
    const wrong = await command(['archive', 'verify', '--url', AUDIT_ARCHIVE_URL, '--keys', foreign]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stdout, /KEY_NOT_TRUSTED/);
    const stranger = formatVerifierKey(createCosigner('stranger.example/log').key);
    const absent = await command([
      ...['archive', 'verify', '--url', AUDIT_ARCHIVE_URL, ...trust],
      ...['--witness', stranger],
    ]);
    assert.equal(absent.code, 1);
    assert.match(absent.stdout, /LOG_QUORUM_MISSING/);
  });

  it('0: with the keys of now, after the signing key was changed', async () => {
    const next = generateKeyPair();
    const rotated = await startApp(
      {
        ...variables,
        JWT_PRIVATE_KEY: next.privatePem,
        JWT_PUBLIC_KEY: next.publicPem,
      },
      t,
    );
    await recordEvents(rotated, one, 2);
    await witnessed(rotated);
    toNextDay(rotated);
    await rotated.app.audit.prepare();
    const result = await rotated.app.audit.archiving?.round();
    assert.ok(result !== 'busy' && result && result.failed === 0 && result.archived > 0);
    const keys = join(folder, 'jwks-now.json');
    const now = (await rotated.call('GET', '/.well-known/jwks.json')).json;
    assert.equal(now.keys.length, 1);
    writeFileSync(keys, JSON.stringify(now));
    const { code, output } = await command(['archive', 'verify', '--url', AUDIT_ARCHIVE_URL, '--keys', keys]);
    assert.equal(code, 0, output);
  });
});
