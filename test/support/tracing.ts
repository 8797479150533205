/** Support for tests of tracing: programs with code that runs before them, and what they print. */
import assert from 'node:assert/strict';
import { createDatabase, environment, withLongConnectTimeout } from './harness.ts';
import { makeOperator, type Service } from './programs.ts';

/** Code that runs before the program. */
export const preload = (code: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
});

/** prom-client loads the API package, for exemplars that we do not use. */
const apiPackage = '@opentelemetry/api';

/** Prints the URL of each module of OpenTelemetry that is loaded. */
export const printLoaded = preload(`
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      if (url.includes('node_modules/@opentelemetry')) console.error('loaded ' + url);
      return next(url, context);
    },
  });`);

export const prepareTracing = async (changes: Record<string, string>) => {
  const url = withLongConnectTimeout(await createDatabase());
  const env = environment(url, { LOG_LEVEL: 'info', ...changes });
  return { env, operator: await makeOperator(env) };
};

export const loadedModules = ({ program }: Service) =>
  program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('loaded ') && !line.includes(`${apiPackage}/`));

export const warnings = ({ program }: Service, text: string) =>
  program
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":40') && line.includes(text));

export const stopTraced = async ({ program }: Service) => {
  program.kill('SIGTERM');
  assert.equal(await program.gone(), 0, program.output());
};
