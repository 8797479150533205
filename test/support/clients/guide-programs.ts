/** Programs of docs/guides, as they are given out, with the SDK of this checkout. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort, type Program, startProgram, until } from '../programs.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
export const guides = join(root, 'docs/guides');

export interface GuidePrograms {
  readonly folder: string;
  run(file: string, env: Record<string, string>): Program;
  /** A server at a port of its own, whose address is also its AUDIENCE. */
  start(file: string, env?: Record<string, string>): Promise<string>;
}

/** Those of a folder of the guides. `shared` are variables of all of them. */
export function guidePrograms(name: string, shared: Record<string, string>): GuidePrograms {
  // Within the repository, so that the packages are found.
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, `guide-${name}-`));
  after(() => rmSync(folder, { recursive: true, force: true }));
  // The package is not built here.
  const source = (path: string) => new URL(`../../../sdk/typescript/src/${path}`, import.meta.url).href;
  for (const file of readdirSync(join(guides, name)))
    writeFileSync(
      join(folder, file),
      readFileSync(join(guides, name, file), 'utf8')
        .replaceAll(/'@countersign\/sdk\/(\w+)'/g, (_, adapter) => `'${source(`adapters/${adapter}.ts`)}'`)
        .replace("'@countersign/sdk'", `'${source('sdk.ts')}'`),
    );
  const run: GuidePrograms['run'] = (file, env) =>
    startProgram(process.execPath, [join(folder, file)], {
      env: { PATH: process.env.PATH, ...shared, ...env },
    });
  return {
    folder,
    run,
    async start(file, env = {}) {
      const port = await freePort();
      const url = `http://localhost:${port}`;
      const program = run(file, { AUDIENCE: url, PORT: String(port), ...env });
      await until(`${file} answers`, () => fetch(url), program);
      return url;
    },
  };
}

/** The body of the request that registers the API of a guide, for this identifier. */
export function resourceOf(guide: string, identifier: string): Record<string, unknown> {
  const text = readFileSync(join(guides, guide), 'utf8');
  const [, json = ''] = /<!-- resource -->\n```sh\n[\s\S]*? -d "(\{[\s\S]*?\n\})"/.exec(text) ?? [];
  // Ids in variables are left out.
  const resource = JSON.parse(json.replaceAll('\\"', '"').replaceAll(/\["\$\w+_ID"\]/g, '[]'));
  return { ...resource, identifier };
}
