/** The commands of docs/guides/prove-what-happened.md in one shell, with a server that restarts when the guide says so. Their output is that of the guide. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createApp } from '../../../src/app.ts';
import { createOperator } from '../../../src/commands/bootstrap.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { createLog } from '../../../src/kernel/observability/log.ts';
import { createDatabase, environment, execute } from '../harness.ts';
import { newLogKey } from '../peers/witnesses.ts';
import { freePort, startProgram, until } from '../programs.ts';
import { type ServerInProcess, startServerInProcess } from '../server-in-process.ts';

const dayMs = 86_400_000;
const root = fileURLToPath(new URL('../../..', import.meta.url));
const guide = readFileSync(join(root, 'docs/guides/prove-what-happened.md'), 'utf8');

/** Commands, each with the output that the guide shows after it. */
const blocks = [...guide.matchAll(/```sh\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g)].map(
  ([, commands = '', output]) => ({ commands, output }),
);

/** What differs between two runs. */
const generic = (text: string) =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d/g, 'DAY')
    .replaceAll(/\d+ events/g, 'N events')
    .replaceAll(/(ID {2})\d+ +\d+ +[0-9a-f]{64}/g, '$1N N HASH')
    .replaceAll(folder, '/tmp/proof')
    .replaceAll(/(sequence +)\d+/g, '$1N');

export const folder = mkdtempSync(join(tmpdir(), 'countersign-prove-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A shell that stays open. */
function openShell() {
  const shell = startProgram('bash', [], {
    cwd: folder,
    input: null,
    env: { PATH: `${join(process.execPath, '..')}:${process.env.PATH}`, HOME: folder },
  });
  let count = 0;
  let printed = 0;
  return async (commands: string): Promise<string> => {
    count += 1;
    const mark = `--- end of ${count}: `;
    shell.child.stdin?.write(`${commands}\necho "${mark}$?"\n`);
    const output = await until(
      commands,
      async () => {
        const text = shell.output().slice(printed);
        const at = text.indexOf(mark);
        return text.includes('\n', at) && at >= 0 ? text : undefined;
      },
      shell,
    );
    printed += output.length;
    const [text = '', code = ''] = output.split(mark);
    assert.equal(code.trim(), '0', `${commands}\n${text}`);
    return text;
  };
}

/** The operator, and its events, are of yesterday. */
async function recordEarlier(env: Record<string, string>) {
  const log = createLog({ level: 'silent' });
  const app = await createApp({ config: loadConfig(env), log, clock: { now: () => Date.now() - dayMs } });
  try {
    await app.prepare();
    await createOperator(app, false);
    await app.audit.linkAll();
  } finally {
    await app.close();
  }
}

export interface GuideArchive {
  /** For the server. */
  readonly variables: Record<string, string>;
  /** How AUDIT_ARCHIVE_URL begins in the block of the guide for such an archive. The others are left out. */
  readonly shown: 's3://' | 'file://';
  /** The commands for the archive of the test. */
  adaptPlace?(commands: string): string;
}

/** Each command prints what the guide shows. */
export async function runProveGuide({
  variables: ofArchive,
  shown,
  adaptPlace = (text) => text,
}: GuideArchive): Promise<void> {
  const port = await freePort();
  const witnessPort = await freePort();
  const databaseUrl = await createDatabase();
  const env = {
    ...environment(databaseUrl, {
      AUDIT_LOG_KEY: newLogKey(),
      AUDIT_WITNESS_INTERVAL: '1',
    }),
    BASE_URL: `http://127.0.0.1:${port}`,
  };
  await recordEarlier(env);
  let server: ServerInProcess = await startServerInProcess(env, port);
  mkdirSync(join(folder, '.countersign'));
  const { operator } = server;
  writeFileSync(
    join(folder, '.countersign/admin.json'),
    JSON.stringify({ baseUrl: env.BASE_URL, ...operator }),
  );

  const run = openShell();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  // A program, not a function: a signal to the job of a function would not reach Node.
  writeFileSync(join(bin, 'countersign'), `#!/bin/sh\nexec node ${join(root, 'bin/countersign.js')} "$@"\n`, {
    mode: 0o755,
  });
  await run(`. ${join(root, 'docs/guides/setup.sh')}\nunset -f countersign\nPATH=${bin}:$PATH`);
  const adapt = (commands: string) =>
    adaptPlace(commands)
      .replaceAll('/tmp/proof', folder)
      .replace('countersign witness ', `countersign witness --port ${witnessPort} `)
      .replace('127.0.0.1:8787', `127.0.0.1:${witnessPort}`);

  /** All that happened so far is linked, in the log, and cosigned. */
  const isWitnessed = () =>
    until('the witness has seen all', async () => {
      const { db, instanceLog } = server.app;
      const newest = await instanceLog.evidence.checkpoint(db);
      const [counted] = await execute<{ events: number; heads: number }>(
        databaseUrl,
        `select (select count(*)::int from audit_events) - (select coalesce(sum(l.size), 0)::int from (select max(size) as size from audit_segments group by organization_id) l) as events,
                   (select max(number)::int from audit_tree_heads) as heads`,
      );
      const { events, heads } = counted ?? {};
      return (events === 0 && newest?.hasQuorum && newest.highestTreeHead === heads) || undefined;
    });

  for (const { commands, output } of blocks) {
    if (/AUDIT_ARCHIVE_URL=/.test(commands) && !commands.includes(`AUDIT_ARCHIVE_URL=${shown}`)) continue;
    if (commands.includes('npm start')) {
      const variables = [...adapt(commands).matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]);
      await server.stop();
      // The archive with the witness: yesterday waits for it.
      server = await startServerInProcess({ ...env, ...ofArchive, ...Object.fromEntries(variables) }, port);
      continue;
    }
    if (commands.includes('/audit/verify"')) await isWitnessed();
    if (commands.includes('archive list'))
      await until('the day is archived', async () => {
        const rows = await execute(databaseUrl, 'select from audit_archives');
        return rows.length > 0 || undefined;
      });
    const printed = await run(adapt(commands));
    if (output !== undefined) assert.equal(generic(printed), generic(output), commands);
  }
  await run('kill %1');
}
