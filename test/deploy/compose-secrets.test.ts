/** deploy/compose/secrets.mjs: complete, readable by one user each, and never changed. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parsePrivateKey, parsePublicKey } from '../../src/kernel/config/keypair.ts';
import { type ComposeService, mountsOf, overlays, readProject } from '../support/deploy/compose.ts';
import { isRoot } from '../support/deploy/databases/unprivileged.ts';
import { createSecretsFolder } from '../support/deploy/secrets.ts';
import { skipWithout } from '../support/harness.ts';

const project = readProject(overlays);

/** The volume with the secrets of a service. */
const volumeOf = (service: ComposeService): string | undefined =>
  mountsOf(service).find(({ target }) => target === '/run/secrets')?.source;

const contentsOf = (folder: string): [string, string, number][] =>
  readdirSync(folder)
    .sort()
    .map((name) => [name, readFileSync(join(folder, name), 'utf8'), statSync(join(folder, name)).mtimeMs]);

describe('deploy/compose/secrets.mjs', () => {
  it('makes every secret that a service names, readable by its user alone', async (t) => {
    if (!isRoot()) return skipWithout(t, 'root rights');
    const secrets = createSecretsFolder(project);
    await secrets.run();
    for (const [name, service] of Object.entries(project.services)) {
      const volume = volumeOf(service);
      const named = [...JSON.stringify(service).matchAll(/\/run\/secrets\/([\w.-]+)/g)].map(
        ([, file = '']) => file,
      );
      assert.equal(
        volume === undefined,
        named.length === 0 && name !== 'prometheus' && name !== 'kafka',
        name,
      );
      if (volume === undefined) continue;
      const folder = secrets.volumes[volume] ?? '';
      for (const file of named)
        assert.ok(readFileSync(join(folder, file), 'utf8').trim(), `${name}: ${file}`);
      for (const file of readdirSync(folder)) {
        const { mode, uid, gid } = statSync(join(folder, file));
        assert.equal(mode & 0o777, 0o400, `${volume}: ${file}`);
        assert.equal(`${uid}:${gid}`, service.user, `${volume}: ${file}`);
      }
    }
    const { uid, gid } = statSync(secrets.volumes['proxy-data'] ?? '');
    assert.equal(`${uid}:${gid}`, project.services.proxy?.user);
  });

  it('a second run changes nothing', async (t) => {
    if (!isRoot()) return skipWithout(t, 'root rights');
    const secrets = createSecretsFolder(project);
    await secrets.run();
    const all = () => Object.values(secrets.volumes).map(contentsOf);
    const before = all();
    assert.equal(await secrets.run(), '');
    assert.deepEqual(all(), before);
  });

  it('each run makes other secrets; those of a run belong together', async (t) => {
    if (!isRoot()) return skipWithout(t, 'root rights');
    const [one, two] = [createSecretsFolder(project), createSecretsFolder(project)];
    await Promise.all([one.run(), two.run()]);
    const values = [one, two].flatMap(({ volumes }) =>
      Object.values(volumes).flatMap((folder) => contentsOf(folder).map(([, content]) => content)),
    );
    // The metrics token and the password for Kafka are in two volumes each.
    assert.equal(new Set(values).size, values.length - 4);

    const read = (volume: string, name: string) =>
      readFileSync(join(one.volumes[volume] ?? '', name), 'utf8').trim();
    const database = new URL(read('app-secrets', 'database-url'));
    assert.equal(database.password, read('postgres-secrets', 'database-password'));
    assert.equal(new URL(read('app-secrets', 'redis-url')).password, read('redis-secrets', 'redis-password'));
    assert.equal(read('prometheus-secrets', 'metrics-token'), read('app-secrets', 'metrics-token'));
    assert.ok(read('kafka-secrets', 'kafka-jaas').includes(read('app-secrets', 'kafka-sasl-password')));
    assert.equal(Buffer.from(read('app-secrets', 'data-encryption-key'), 'base64').length, 32);
    const publicKey = parsePublicKey(read('app-secrets', 'jwt-public-key'));
    parsePrivateKey(read('app-secrets', 'jwt-private-key'));
    assert.ok(publicKey);
  });

  it("completes a run that was killed, and keeps an operator's own file", async (t) => {
    if (!isRoot()) return skipWithout(t, 'root rights');
    const secrets = createSecretsFolder(project);
    const app = secrets.volumes['app-secrets'] ?? '';
    writeFileSync(join(app, 'metrics-token'), 'chosen-by-the-operator');
    // A draft that never got its name.
    writeFileSync(join(app, 'jwt-private-key.new'), 'half of a key', { mode: 0o400 });
    await secrets.run();
    assert.equal(readFileSync(join(app, 'metrics-token'), 'utf8'), 'chosen-by-the-operator');
    assert.ok(!readdirSync(app).includes('jwt-private-key.new'));

    const before = readFileSync(join(app, 'database-url'), 'utf8');
    const publicKey = readFileSync(join(app, 'jwt-public-key'), 'utf8');
    rmSync(join(app, 'database-url'));
    rmSync(join(app, 'jwt-public-key'));
    assert.equal(await secrets.run(), 'created app/database-url\ncreated app/jwt-public-key\n');
    assert.equal(readFileSync(join(app, 'database-url'), 'utf8'), before);
    assert.equal(readFileSync(join(app, 'jwt-public-key'), 'utf8'), publicKey);
  });
});
