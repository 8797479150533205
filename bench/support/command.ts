/** Runs a command of `countersign` until it ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { KeyPems } from './serving.ts';
import { bin } from './serving.ts';

export async function runCommand(
  args: readonly string[],
  databaseUrl: string,
  { privatePem, publicPem }: KeyPems,
): Promise<void> {
  const child = spawn(process.execPath, [bin, ...args], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      REDIS_URL: 'memory://',
      JWT_PRIVATE_KEY: privatePem,
      JWT_PUBLIC_KEY: publicPem,
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output = `${output}${chunk}`.slice(-2_000);
  });
  const kill = () => child.kill();
  process.once('exit', kill);
  const [code] = await once(child, 'close');
  process.off('exit', kill);
  if (code !== 0) throw new Error(`countersign ${args.join(' ')} ended with code ${code}: ${output}`);
}
