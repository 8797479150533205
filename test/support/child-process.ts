/**
 * Programs that run to their end, each with a time limit: without one, a program that hangs blocks the event loop of its test file,
 * and with it the limit of the file.
 */
import { type ExecFileOptions, execFile, type SpawnSyncOptions, spawnSync } from 'node:child_process';

const defaultLimitMs = 120_000;

const describe = (command: string, args: readonly string[]) => [command, ...args].join(' ');

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Blocks until the program ends; throws when it cannot start, or when it does not end within the limit. */
export function runSync(
  command: string,
  args: readonly string[],
  { timeout = defaultLimitMs, ...options }: Omit<SpawnSyncOptions, 'encoding' | 'killSignal'> = {},
): Ended {
  const { status, stdout, stderr, error } = spawnSync(command, [...args], {
    maxBuffer: 64 * 1024 * 1024,
    ...options,
    encoding: 'utf8',
    timeout,
    killSignal: 'SIGKILL',
  });
  if (!error) return { status, stdout, stderr };
  const late = (error as NodeJS.ErrnoException).code === 'ETIMEDOUT';
  const reason = late ? `did not end within ${timeout / 1000} s` : error.message;
  throw new Error(`${describe(command, args)}: ${reason}\n${stdout}\n${stderr}`);
}

/** The same; throws when the program fails, too. Returns its standard output. */
export function succeedSync(...[command, args, options]: Parameters<typeof runSync>): string {
  const { status, stdout, stderr } = runSync(command, args, options);
  if (status !== 0) throw new Error(`${describe(command, args)}: exit code ${status}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Does not block. Rejects when the program fails, or does not end within the limit. */
export const succeed = (
  command: string,
  args: readonly string[],
  { timeout = defaultLimitMs, ...options }: Omit<ExecFileOptions, 'encoding' | 'killSignal'> = {},
): Promise<string> =>
  new Promise((resolve, reject) => {
    const limits = { maxBuffer: 64 * 1024 * 1024, timeout, killSignal: 'SIGKILL' } as const;
    execFile(command, [...args], { ...options, ...limits, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const reason = error.killed ? `did not end within ${timeout / 1000} s` : `exit code ${error.code}`;
      reject(new Error(`${describe(command, args)}: ${reason}\n${stdout}\n${stderr}`));
    });
  });

const ofNetwork = /^((https?|no|all)_proxy|node_extra_ca_certs|ssl_cert_(file|dir))$/i;
const ofPackageManagers =
  /^(npm_config_(registry|cache|userconfig|cafile|ca|strict_ssl)|(pip|uv|cargo|go)_?[a-z_]*(cert|index|proxy|cache|config)[a-z_]*|requests_ca_bundle|curl_ca_bundle)$/i;

/**
 * The variables that a program needs to reach package registries from this machine: proxies, certificates and settings of package
 * managers. An environment that a test composes includes them: without its certificates, npm repeats each request for minutes.
 */
export const registryVariables = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => ofNetwork.test(name) || ofPackageManagers.test(name)),
  );
