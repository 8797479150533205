import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { skipWithout } from '../../../test/support/harness.ts';
import { conform, namesOf, pieces, readAll, text } from '../../../test/support/object-storage-suite.ts';
import { startProgram, until } from '../../../test/support/programs.ts';
import { ObjectStorageError } from '../../kernel/ports/object-storage.ts';
import { openObjectStorage } from './open.ts';

const adapter = new URL('file.ts', import.meta.url).href;

describe('a folder as object storage', () => {
  const parent = mkdtempSync(join(tmpdir(), 'countersign-archive-'));
  after(() => rmSync(parent, { recursive: true, force: true }));
  // Another user gets to the folder below, in one test.
  chmodSync(parent, 0o755);

  const openIn = async (name: string) => {
    const folder = join(parent, name);
    mkdirSync(folder);
    return {
      folder,
      storage: await openObjectStorage({ url: pathToFileURL(folder).href }),
      unfinished: async () => unfinishedIn(folder).length,
    };
  };

  /** In a process of its own: `storage` is the folder, and `megabytes` never ends. */
  const run = (folder: string, work: string, { uid, limit }: { uid?: number; limit?: string } = {}) => {
    const program = `
      import { openFolder } from ${JSON.stringify(adapter)};
      const storage = openFolder(${JSON.stringify(folder)});
      async function* megabytes() { for (;;) { console.log('more'); yield Buffer.alloc(1024 ** 2); } }
      ${work}`;
    return startProgram(
      'bash',
      ['-c', `${limit ?? ':'}; exec "$0" "$@"`, process.execPath, '--input-type=module', '-e', program],
      { env: { PATH: process.env.PATH }, cwd: '/', ...(uid !== undefined && { uid, gid: uid }) },
    );
  };

  const failsWith = (pattern: RegExp) => (error: unknown) => {
    assert.ok(error instanceof ObjectStorageError, String(error));
    assert.match(error.message, pattern);
    return true;
  };

  it('conforms', (t) => conform(t, openIn));

  it('objects can be read by the group, and changed by none', async () => {
    const { folder, storage } = await openIn('modes');
    await storage.create('a/object', pieces('x'), text);
    assert.equal(statSync(join(folder, 'a/object')).mode & 0o777, 0o440);
    assert.equal(statSync(join(folder, 'a')).mode & 0o777, 0o750);
  });

  it('a folder that is missing is named, and not made: its disk may not be mounted', async () => {
    const folder = join(parent, 'missing');
    const storage = await openObjectStorage({ url: pathToFileURL(folder).href });
    const attempts = () => [
      () => storage.create('a/object', pieces('x'), text),
      () => storage.read('a/object'),
      () => namesOf(storage),
      () => storage.check(),
    ];
    for (const attempt of attempts())
      await assert.rejects(
        attempt(),
        failsWith(/^file:\/\/\/.*missing: .*: the folder does not exist: create it, or mount/),
      );
    assert.equal(existsSync(folder), false);
    writeFileSync(folder, '');
    for (const attempt of attempts())
      await assert.rejects(attempt(), failsWith(/is no folder: correct AUDIT_ARCHIVE_URL/));
  });

  it('files of others are not listed', async () => {
    const { folder, storage } = await openIn('others');
    await storage.create('a/object', pieces('x'), text);
    mkdirSync(join(folder, 'lost+found'), { mode: 0 });
    writeFileSync(join(folder, 'a', '.nfs0001'), '');
    symlinkSync('/etc', join(folder, 'etc'));
    assert.deepEqual(await namesOf(storage), ['a/object']);
  });

  it('a process killed while it writes leaves no object, and its unfinished file is removed after a day', async () => {
    const { folder, storage } = await openIn('killed');
    const program = run(folder, `await storage.create('a/object', megabytes(), {});`);
    await until('an unfinished file', async () => program.output().length > 20 || undefined, program);
    program.kill('SIGKILL');
    await program.ended();
    const [left = '', ...others] = unfinishedIn(folder);
    assert.deepEqual(others, []);
    assert.ok(statSync(join(folder, '.unfinished', left)).size > 1_000);
    assert.equal(await storage.read('a/object'), undefined);
    assert.deepEqual(await namesOf(storage), []);

    assert.equal(await storage.create('a/object', pieces('new'), text), 'created');
    assert.equal(String(await readAll(storage, 'a/object')), 'new');
    assert.deepEqual(unfinishedIn(folder), [left]);
    const twoDaysAgo = Date.now() / 1_000 - 2 * 86_400;
    utimesSync(join(folder, '.unfinished', left), twoDaysAgo, twoDaysAgo);
    await storage.create('b/object', pieces('x'), text);
    assert.deepEqual(unfinishedIn(folder), []);
  });

  const reported = `.catch((error) => console.log(error.name, error.message));`;

  it('a file that cannot be written to its end: an error, and no object', async () => {
    const { folder, storage } = await openIn('full');
    const program = run(folder, `await storage.create('object', megabytes(), {})${reported}`, {
      limit: 'ulimit -f 3000',
    });
    assert.equal(await program.gone(), 0, program.output());
    assert.match(
      program.output(),
      /ObjectStorageError file:.*writing object failed: the file would be larger.*\(EFBIG\)/,
    );
    assert.deepEqual(unfinishedIn(folder), []);
    assert.equal(await storage.read('object'), undefined);
  });

  it('a folder that this user may not write to is named', async (t) => {
    if (process.getuid?.() !== 0) return skipWithout(t, 'the right to start programs as other users');
    const { folder } = await openIn('unwritable');
    chownSync(folder, 0, 0);
    const program = run(
      folder,
      `await storage.create('object', megabytes(), {})${reported} await storage.check()${reported}`,
      { uid: 65_534 },
    );
    assert.equal(await program.gone(), 0, program.output());
    const lines = program.stdout().trim().split('\n');
    assert.equal(lines.length, 2);
    for (const line of lines)
      assert.match(line, /ObjectStorageError .*: this user may not: give it the rights.*\(EACCES\)/);
  });
});

function unfinishedIn(folder: string): string[] {
  const path = join(folder, '.unfinished');
  return existsSync(path) ? readdirSync(path) : [];
}
