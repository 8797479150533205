/** The command line as a script uses it: a server, an operator, and commands with pipes for input and output. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { type CommandOptions, startInProcess } from './commands-in-process.ts';
import { createDatabase, environment } from './harness.ts';
import type { Client } from './programs.ts';
import { type ServerInProcess, startServerInProcess } from './server-in-process.ts';

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, as they came. */
  readonly output: string;
}

export interface CommandLine {
  readonly service: ServerInProcess;
  readonly operator: Client;
  /** A folder of the test file; commands run in it. */
  readonly folder: string;
  /** The variables with which a command is the operator. */
  readonly asOperator: Record<string, string>;
  /** With the operator's variables, unless `env` is given. */
  run(args: readonly string[], options?: Partial<Omit<CommandOptions, 'cwd'>>): Promise<Run>;
}

/** One server for the test file. */
export async function startCommandLine(variables: Record<string, string> = {}): Promise<CommandLine> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-cli-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const env = environment(await createDatabase(), { RATE_LIMIT_PER_MINUTE: '100000', ...variables });
  const service = await startServerInProcess(env);
  const { operator } = service;
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
    run: (args, options) => runCommand(args, { env: asOperator, ...options, cwd: folder }),
  };
}

/** In this process. */
export async function runCommand(args: readonly string[], options: CommandOptions): Promise<Run> {
  const command = startInProcess(args, options);
  const code = await command.gone();
  return { code, stdout: command.stdout(), stderr: command.stderr(), output: command.output() };
}
