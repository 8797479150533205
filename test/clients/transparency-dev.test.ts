/**
 * The instance log of a running server, and programs that are not ours: the witness of transparency-dev cosigns it, and finds a database
 * that went back; golang.org/x/mod and transparency-dev/formats read its checkpoint; fsck of transparency-dev/tessera computes its root
 * from its tiles and entries.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { runCommand } from '../support/command-line.ts';
import {
  copyDatabase,
  createDatabase,
  environment,
  execute,
  newAgent,
  skipWithout,
} from '../support/harness.ts';
import {
  checkLog,
  hasTransparencyTools,
  openWithGo,
  startOmniwitness,
  toolsAreNeeded,
} from '../support/peers/transparency-dev.ts';
import { folder, newLogKey, verifierKeyOf, witnessVariables } from '../support/peers/witnesses.ts';
import { authorize, makeOperator, type Service, startServe, until } from '../support/programs.ts';

const AUDIT_LOG_KEY = newLogKey();
const logKey = verifierKeyOf(AUDIT_LOG_KEY);
const origin = 'countersign.test/log';

const withPrograms = (title: string, work: () => Promise<void>) =>
  it(title, { timeout: 400_000 }, (test: TestContext) =>
    hasTransparencyTools() ? work() : skipWithout(test, toolsAreNeeded),
  );

const textOf = async ({ url }: Service, path: string) => (await fetch(`${url}${path}`)).text();
const sizeOf = (checkpoint: string) => Number(checkpoint.split('\n')[1]);
const stop = async ({ program }: Service) => {
  program.kill('SIGTERM');
  assert.equal(await program.gone(), 0, program.output());
};

/** A database with an operator, and the witness. */
async function prepare() {
  const witness = await startOmniwitness('witness.example/omni', [{ origin, verifierKey: logKey }]);
  const databaseUrl = await createDatabase();
  const alone = { AUDIT_LOG_KEY, LOG_LEVEL: 'info' };
  const variables = { ...alone, ...witnessVariables([witness], 1) };
  const operator = await makeOperator(environment(databaseUrl, alone));
  const call = async ({ url }: Service, path: string, options: RequestInit = {}) =>
    fetch(`${url}/api/v1${path}`, {
      ...options,
      headers: { 'content-type': 'application/json', ...(await authorize(url, operator)) },
    });
  return {
    witness,
    databaseUrl,
    call,
    start: (url: string) => startServe(environment(url, variables)),
    startWithoutWitness: (url: string) => startServe(environment(url, alone)),
    async change(service: Service) {
      const options = { method: 'POST', body: JSON.stringify(newAgent()) };
      const { status } = await call(service, '/agents', options);
      assert.equal(status, 201);
    },
    /** The first checkpoint with its cosignature that is larger. */
    cosigned: (service: Service, from = 0) =>
      until(
        'a larger checkpoint has the cosignature',
        async () => {
          const text = await textOf(service, '/log/checkpoint');
          return sizeOf(text) > from && text.includes(`\n— ${witness.name} `) ? text : undefined;
        },
        service.program,
      ),
    async verify(service: Service) {
      return (await (await call(service, '/audit/verify')).json()) as {
        verified: boolean;
        witnessed: { checkpointSize: number; witnesses: string[] } | null;
      };
    },
  };
}

withPrograms(
  'the witness cosigns each growth; Go and fsck read the log; audit verify accepts it',
  async () => {
    const { witness, databaseUrl, call, start, change, cosigned, verify } = await prepare();
    const service = await start(databaseUrl);
    let size = sizeOf(await cosigned(service));
    const grow = async () => {
      await change(service);
      size = sizeOf(await cosigned(service, size));
    };
    await grow();
    await witness.stop();
    await witness.restart();
    await grow();
    const { verified, witnessed } = await verify(service);
    assert.deepEqual([verified, witnessed?.witnesses], [true, [witness.name]]);

    const opened = await openWithGo(`${service.url}/log/checkpoint`, logKey, [witness.verifierKey]);
    assert.equal(opened.origin, origin);
    assert.ok(opened.size >= size);
    assert.equal(opened.times.length, 1);
    const checked = await checkLog(`${service.url}/log/`, logKey);
    const [, checkedSize, root] =
      /Successfully fsck'd log with size (\d+) and root \S+ \((\w+)\)/.exec(checked) ?? [];
    assert.ok(Number(checkedSize) >= opened.size, checked);
    if (Number(checkedSize) === opened.size) assert.equal(root, opened.root);

    writeFileSync(join(folder, 'jwks.json'), await textOf(service, '/.well-known/jwks.json'));
    writeFileSync(join(folder, 'log.key'), await textOf(service, '/log/key'));
    writeFileSync(join(folder, 'audit.jsonl'), await (await call(service, '/audit/export')).text());
    const args = ['audit', 'verify', 'audit.jsonl', '--keys', 'jwks.json', '--log-key', 'log.key'];
    const { code, stdout, stderr } = await runCommand([...args, '--witness', witness.verifierKey], {
      env: {},
      cwd: folder,
    });
    assert.match(stdout, /^The export is intact and witnessed at \S+Z by witness\.example\/omni: /, stderr);
    assert.equal(code, 0);
    await stop(service);
  },
);

/** All that is signed. */
const signedIn = (databaseUrl: string) =>
  execute(
    databaseUrl,
    'select signed from audit_tree_heads union all select checkpoint from instance_logs order by 1',
  );
const sizeIn = async (databaseUrl: string): Promise<number> =>
  (await execute<{ size: number }>(databaseUrl, 'select size::int from instance_logs'))[0]?.size ?? 0;

withPrograms(
  'a server on an older backup, or on another history, signs nothing; on the newest one it goes on',
  async () => {
    const { witness, databaseUrl, start, startWithoutWitness, change, cosigned, verify } = await prepare();
    let service = await start(databaseUrl);
    await cosigned(service);
    await stop(service);
    const backup = await copyDatabase(databaseUrl);
    service = await start(databaseUrl);
    for (let changes = 0; changes < 2; changes += 1) {
      const before = sizeOf(await textOf(service, '/log/checkpoint'));
      await change(service);
      await cosigned(service, before);
    }
    await stop(service);
    const newest = await sizeIn(databaseUrl);

    const signsNothing = async (url: string, reason: string) => {
      const before = await signedIn(url);
      const restored = await start(url);
      await until(
        'the server tells the reason',
        async () => restored.program.output().includes(reason) || undefined,
        restored.program,
      );
      await change(restored);
      assert.equal((await verify(restored)).verified, false);
      assert.match(restored.program.output(), /THE AUDIT LOG IS NOT INTACT/);
      await stop(restored);
      assert.deepEqual(await signedIn(url), before);
    };
    await signsNothing(
      await copyDatabase(backup),
      `the witness ${witness.name} knows a tree of ${newest} entries, and this database has ${await sizeIn(backup)}`,
    );

    const other = await copyDatabase(backup);
    const insider = await startWithoutWitness(other);
    for (let size = await sizeIn(other); size < newest; size = await sizeIn(other)) {
      await change(insider);
      await until('the log grows', async () => (await sizeIn(other)) > size || undefined, insider.program);
    }
    await stop(insider);
    await signsNothing(other, `the witness ${witness.name} knows another tree of `);

    service = await start(databaseUrl);
    await change(service);
    await cosigned(service, newest);
    assert.equal((await verify(service)).verified, true);
    await stop(service);
  },
);
