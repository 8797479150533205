/** files/variables.yaml of the Helm chart: which variables exist, and where the chart takes each of them from. */
import { stringify } from 'yaml';
import { type Variable, variables } from '../../src/kernel/config/variables.ts';

const all: readonly Variable<unknown>[] = Object.values(variables);

/** The chart sets these itself, because other objects depend on them. */
const managed: Readonly<Record<string, string>> = {
  PORT: 'the pods listen on 3000; choose the port of the Service with service.port',
  WORKER_PORT: 'the workers listen on 3001',
  SHUTDOWN_DELAY_SECONDS: 'set serve.shutdownDelaySeconds, which also sets the grace period of the pods',
};

/** The name in the Secret: DATABASE_URL is database-url. */
export const secretKey = (env: string): string => env.toLowerCase().replaceAll('_', '-');

export const plainVariables = all.filter(({ env, orFile }) => !orFile && !(env in managed));
export const managedVariables = all.filter(({ env }) => env in managed);
export const fileVariables = all.filter(({ orFile }) => orFile);

export const variablesFile = (notice: string): string =>
  notice +
  stringify({
    plain: plainVariables.map(({ env }) => env),
    managed: managedVariables.map(({ env }) => ({ env, instead: managed[env] })),
    files: Object.fromEntries(
      fileVariables.map(({ env, required }) => [secretKey(env), { env, required }] as const),
    ),
  });
