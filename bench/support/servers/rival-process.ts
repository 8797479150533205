/** A server of another project as a child process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { endServer, type Serving } from '../serving.ts';

export interface RivalCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface RivalServer extends RivalCommand {
  readonly url: string;
  /** A path that answers when the server is ready. */
  readonly readyPath: string;
}

const startTimeoutMs = 300_000;

export async function startRival({ url, readyPath, ...command }: RivalServer): Promise<Serving> {
  const { child, output } = start(command);
  const kill = () => child.kill();
  process.once('exit', kill);
  const stop = async () => {
    await endServer(child);
    process.off('exit', kill);
  };
  const until = performance.now() + startTimeoutMs;
  while (child.exitCode === null && child.signalCode === null && performance.now() < until) {
    const response = await fetch(`${url}${readyPath}`).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.ok) return { url, pid: child.pid ?? 0, stop };
    await sleep(250);
  }
  await stop();
  throw new Error(`${command.command} did not become ready: ${output()}`);
}

/** Waits for the end of the command. */
export async function runRival(command: RivalCommand): Promise<void> {
  const { child, output } = start(command);
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command.command} ended with code ${code}: ${output()}`);
}

function start({ command, args, env }: RivalCommand): { child: ChildProcess; output(): string } {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed = `${printed}${chunk}`.slice(-4_000);
    });
  child.on('error', (error) => {
    printed += error.message;
  });
  return { child, output: () => printed };
}
