/** The secrets of the Compose project, made in a folder of the test by the script that its service `secrets` runs. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { startProgram } from '../programs.ts';
import { deployFolder, mountsOf, type Project } from './compose.ts';

export interface SecretsFolder {
  /** The folder of each volume, by the name of the volume. */
  readonly volumes: Readonly<Record<string, string>>;
  /** Runs the script, again after the first time. Resolves to its output; fails when the script fails. */
  run(): Promise<string>;
}

export function createSecretsFolder({ services }: Project): SecretsFolder {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-secrets-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const mounts = services.secrets ? mountsOf(services.secrets) : [];
  const volumes: Record<string, string> = {};
  for (const { source, target } of mounts.filter((mount) => !mount.source.startsWith('.'))) {
    volumes[source] = join(folder, target);
    mkdirSync(join(folder, target), { recursive: true });
  }
  const args = [join(deployFolder, 'compose/secrets.mjs'), join(folder, 'secrets'), join(folder, 'volumes')];
  return {
    volumes,
    async run() {
      const program = startProgram(process.execPath, args, { env: { PATH: process.env.PATH } });
      if ((await program.gone()) !== 0) throw new Error(program.output());
      return program.output();
    },
  };
}
