/** The server of `countersign serve` inside the test's process, for tests of its clients: a process of its own costs seconds. */
import { tmpdir } from 'node:os';
import { after } from 'node:test';
import type { App } from '../../src/app.ts';
import { createOperator } from '../../src/commands/bootstrap.ts';
import { startServer } from '../../src/commands/serve.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import type { Lifecycle } from '../../src/kernel/lifecycle.ts';
import { createLog } from '../../src/kernel/observability/log.ts';
import { startInProcess } from './commands-in-process.ts';
import { withLongConnectTimeout } from './harness.ts';
import { type Client, freePort, type Program, type Service, untilHealthy } from './programs.ts';

export interface ServerInProcess {
  readonly app: App;
  readonly url: string;
  readonly port: number;
  readonly operator: Client;
  /** The lines of its log so far. */
  log(): string;
  stop(): Promise<void>;
}

/** With an operator, and all background loops. It stops with the test file. */
export async function startServerInProcess(
  env: Record<string, string>,
  port?: number,
): Promise<ServerInProcess> {
  const at = port ?? (await freePort());
  const DATABASE_URL = withLongConnectTimeout(env.DATABASE_URL ?? '');
  const config = loadConfig({ HOST: '127.0.0.1', PORT: String(at), ...env, DATABASE_URL });
  let lines = '';
  const destination = {
    write(line: string) {
      lines += line;
    },
  };
  const log = createLog({ level: config.logLevel, destination });
  const lifecycle = lifecycleOfTest();
  after(() => lifecycle.stop());
  const app = await startServer(config, log, lifecycle, { worker: true });
  const operator = await createOperator(app, true);
  return { app, url: `http://127.0.0.1:${at}`, port: at, operator, log: () => lines, stop: lifecycle.stop };
}

/** No signal stops it, and it does not end the process. */
function lifecycleOfTest(): Lifecycle {
  const steps: (() => Promise<void>)[] = [];
  return {
    onStop: (step) => void steps.push(step),
    async stop() {
      for (let step = steps.pop(); step; step = steps.pop()) await step();
    },
    exit() {
      throw new Error('a test stops its server itself');
    },
  };
}

/** A server as its command starts it, in this process or in one of its own. */
export type RunningServer = Pick<Service, 'port' | 'url'> & {
  readonly program: Pick<Program, 'output' | 'hasEnded' | 'kill' | 'gone'>;
};

/** The command `countersign serve`, with its signals and its exit code; without an operator. It stops with the test at the latest. */
export async function serveInProcess(env: Record<string, string>): Promise<RunningServer> {
  const port = await freePort();
  const variables = { HOST: '127.0.0.1', PORT: String(port), CONSOLE_BUILD: 'false', ...env };
  const program = startInProcess(['serve'], { env: variables, cwd: tmpdir() });
  after(async () => {
    if (!program.hasEnded()) program.kill('SIGTERM');
    await program.gone();
  });
  await untilHealthy(port, program);
  return { program, port, url: `http://127.0.0.1:${port}` };
}
