/** The command line as a script uses it: a server, an operator, and commands with pipes for input and output. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { createDatabase, environment } from './harness.ts';
import { bin, type Client, makeOperator, type Service, startServe } from './programs.ts';

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandLine {
  readonly service: Service;
  readonly operator: Client;
  /** A folder of the test file; commands run in it. */
  readonly folder: string;
  /** The variables with which a command is the operator. */
  readonly asOperator: Record<string, string>;
  /** With the operator's variables, unless `env` is given. */
  run(args: readonly string[], options?: { env?: Record<string, string>; input?: string }): Promise<Run>;
}

/** One server for the test file. */
export async function startCommandLine(variables: Record<string, string> = {}): Promise<CommandLine> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-cli-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const env = environment(await createDatabase(), { RATE_LIMIT_PER_MINUTE: '100000', ...variables });
  const operator = await makeOperator(env);
  const service = await startServe(env);
  const asOperator = {
    COUNTERSIGN_URL: service.url,
    COUNTERSIGN_CLIENT_ID: operator.clientId,
    COUNTERSIGN_CLIENT_SECRET: operator.clientSecret,
  };
  return {
    service,
    operator,
    folder,
    asOperator,
    run: (args, { env = asOperator, input } = {}) => runCommand(args, { env, cwd: folder, input }),
  };
}

/** A profile file in HOME must not matter to a test: it has a HOME of its own. */
export function runCommand(
  args: readonly string[],
  options: { env: Record<string, string>; cwd: string; input?: string | undefined },
): Promise<Run> {
  const { env, cwd, input } = options;
  const child = spawn(process.execPath, ['--preserve-symlinks', bin, ...args], {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: cwd, ...env },
    cwd,
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => (stdout += chunk));
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  child.stdin?.end(input);
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}
