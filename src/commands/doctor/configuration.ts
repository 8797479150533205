/** The environment of `serve`: all variables, the keys, the policies. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCedar, readPolicies } from '../../adapters/cedar.ts';
import { describePublicKey } from '../../adapters/keys/keys.ts';
import { ConfigProblems, hasOpenMetrics, loadConfig, loadVariable } from '../../kernel/config/config.ts';
import { keysMatch } from '../../kernel/config/keypair.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { packageRoot } from '../../kernel/package-root.ts';
import { quoted } from '../terminal.ts';
import { type Check, ok, problem, warning } from './check.ts';

const shippedPolicies = fileURLToPath(new URL('policies/', packageRoot));

export const configurationCheck: Check = {
  name: 'configuration',
  remedy: 'docs/reference/configuration.md explains every variable',
  run({ env }) {
    const name = 'configuration';
    try {
      const config = loadConfig(env);
      const { nodeEnv, baseUrl, multiTenant, metricsToken } = config;
      const mode = nodeEnv === 'production' ? 'production' : 'development';
      const findings = [ok(name, `all variables are valid; ${mode}, BASE_URL ${baseUrl}`)];
      if (mode === 'development' && multiTenant)
        findings.push(
          warning(
            name,
            'MULTI_TENANT=true without NODE_ENV=production',
            'set NODE_ENV=production on all nodes',
          ),
        );
      const metrics = metricsToken === undefined ? 'answers without a token' : 'asks for METRICS_TOKEN';
      findings.push(
        hasOpenMetrics(config)
          ? warning(
              'metrics',
              `/metrics ${metrics}`,
              'set METRICS_TOKEN on all nodes, and give it to your monitoring',
            )
          : ok('metrics', `/metrics ${metrics}`),
      );
      return findings;
    } catch (error) {
      if (!(error instanceof ConfigProblems)) throw error;
      return error.problems.map((each) =>
        problem(name, quoted(each), 'set the variable; docs/reference/configuration.md explains it'),
      );
    }
  },
};

export const keysCheck: Check = {
  name: 'keys',
  remedy: 'make a pair with `countersign keys`',
  async run({ env }) {
    const name = 'keys';
    const privateKey = loadVariable('jwtPrivateKey', env);
    const publicKey = loadVariable('jwtPublicKey', env);
    const { kid, alg } = await describePublicKey(publicKey);
    if (!keysMatch({ privateKey, publicKey }))
      return [
        problem(
          name,
          `JWT_PUBLIC_KEY (kid ${kid}) is not the public half of JWT_PRIVATE_KEY`,
          'derive it: openssl pkey -in private.pem -pubout -out public.pem',
        ),
      ];
    const further = loadVariable('jwtPreviousPublicKeys', env)?.length ?? 0;
    return [
      ok(name, `the key pair matches (${alg}, kid ${kid})${further > 0 ? `; ${further} further keys` : ''}`),
    ];
  },
};

export const policiesCheck: Check = {
  name: 'policies',
  remedy:
    'correct the file; docs/operations/configure.md explains policies. Without POLICIES_DIR the built-in ones are used',
  run({ env }) {
    const folder = loadVariable('policiesDir', env) ?? shippedPolicies;
    // Throws when a policy is not valid.
    createCedar({
      folder,
      schemaFile: join(shippedPolicies, 'schema.cedarschema'),
      log: createLog({ level: 'silent' }),
    });
    const files = Object.keys(readPolicies(folder)).length;
    const which = folder === shippedPolicies ? 'the built-in policies' : folder;
    return [ok('policies', `${which}: ${files} files are valid`)];
  },
};
