/** Files of results and secrets, in folders where another user may have put links. */
import assert from 'node:assert/strict';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { ioFor } from '../../../test/support/commands-in-process.ts';
import { startPeer } from '../../../test/support/peers/http-peer.ts';
import { saveAnswer } from './api/files.ts';
import type { Connection } from './connection.ts';
import { replacePrivateFile } from './private-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-private-file-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const modeOf = (file: string) => statSync(file).mode & 0o777;

it('a file that others could read is replaced by a private one', () => {
  const file = join(folder, 'identity.yaml');
  writeFileSync(file, 'old', { mode: 0o644 });
  replacePrivateFile(file, 'new');
  assert.equal(readFileSync(file, 'utf8'), 'new');
  assert.equal(modeOf(file), 0o600);
  assert.deepEqual(readdirSync(folder), ['identity.yaml']);
});

it('a file that cannot be replaced leaves no draft', () => {
  const empty = mkdtempSync(join(folder, 'empty-'));
  assert.throws(() => replacePrivateFile(empty, 'new'));
  assert.ok(!readdirSync(folder).some((name) => name.endsWith('.part')));
});

it('--output does not follow a link beside the file', async () => {
  const url = await startPeer((_, response) => void response.end('answer'));
  const [output, mine] = [join(folder, 'audit.ndjson'), join(folder, 'mine')];
  writeFileSync(mine, 'mine');
  symlinkSync(mine, `${output}.part`);
  const connection = { open: () => fetch(url) } as unknown as Connection;
  await saveAnswer(ioFor({}), connection, { method: 'GET', path: '/', query: {}, headers: {} }, output);
  assert.equal(readFileSync(output, 'utf8'), 'answer');
  assert.equal(readFileSync(mine, 'utf8'), 'mine');
  assert.equal(modeOf(output), 0o600);
});
