/** Values that the Helm chart refuses, with messages that say how to repair them. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { helmTest, template, writeValues } from '../support/deploy/helm.ts';

const minimal = { existingSecret: 'countersign', config: { BASE_URL: 'https://id.example.com' } };

describe('the Helm chart refuses', () => {
  const refusals: readonly [title: string, values: object, message: RegExp][] = [
    [
      'no values',
      {},
      /2 problems:[\s\S]*config\.BASE_URL is missing[\s\S]*existingSecret is missing: create a Secret with the keys data-encryption-key, database-url, jwt-private-key, jwt-public-key, metrics-token, redis-url/,
    ],
    [
      'a base URL with a path',
      { ...minimal, config: { BASE_URL: 'https://example.com/id' } },
      /config\.BASE_URL must be scheme, host and port only/,
    ],
    [
      'an address that probes cannot reach',
      { ...minimal, config: { ...minimal.config, HOST: '127.0.0.1' } },
      /config\.HOST must be 0\.0\.0\.0 or ::/,
    ],
    [
      'brokers without a port',
      { ...minimal, config: { ...minimal.config, KAFKA_BROKERS: 'kafka-0:9092, kafka-1' } },
      /config\.KAFKA_BROKERS must list the brokers as host:port/,
    ],
    ['a misspelt value', { ...minimal, replicaCount: 3 }, /replicaCount/],
    ['a misspelt value inside another', { ...minimal, serve: { replica: 3 } }, /'replica' not allowed/],
    [
      'an unknown variable',
      { ...minimal, config: { ...minimal.config, LOGLEVEL: 'info' } },
      /'LOGLEVEL' not allowed/,
    ],
    [
      'a secret among the values',
      {
        ...minimal,
        config: {
          ...minimal.config,
          DATABASE_URL: 'postgres://user:password@db/name',
          METRICS_TOKEN: 'token',
        },
      },
      /config\.DATABASE_URL is refused, because values are stored in clear: put it into the Secret under the key database-url\n[\s\S]*METRICS_TOKEN [\s\S]*under the key metrics-token, and add the key to optionalSecrets/,
    ],
    [
      'a Redis among the values',
      { ...minimal, config: { ...minimal.config, REDIS_URL: 'redis://redis' } },
      /config\.REDIS_URL is refused, because values are stored in clear: put it into the Secret under the key redis-url\n/,
    ],
    [
      'a variable of the chart',
      { ...minimal, config: { ...minimal.config, PORT: 8080, SHUTDOWN_DELAY_SECONDS: 5 } },
      /config\.PORT is refused: the pods listen on 3000[\s\S]*set serve\.shutdownDelaySeconds/,
    ],
    [
      'a variable of Countersign in extraEnv',
      { ...minimal, extraEnv: [{ name: 'DATABASE_URL', value: 'postgres://db' }] },
      /extraEnv has DATABASE_URL, which is a variable of Countersign/,
    ],
    ['an unknown secret', { ...minimal, optionalSecrets: ['metrics_token'] }, /optionalSecrets/],
    [
      'memory:// with several processes',
      { ...minimal, config: { ...minimal.config, REDIS_URL: 'memory://', WEB_CONCURRENCY: 2 } },
      /memory:\/\/ serves a single process: set serve\.replicas: 1 and no autoscaling, worker\.enabled: false, config\.WEB_CONCURRENCY: 1/,
    ],
    [
      'a budget that blocks: maxUnavailable 0',
      { ...minimal, serve: { podDisruptionBudget: { maxUnavailable: 0 } } },
      /serve\.podDisruptionBudget allows no pod of 2 to be moved/,
    ],
    [
      'a budget that blocks: all pods',
      { ...minimal, worker: { podDisruptionBudget: { minAvailable: 2 } } },
      /worker\.podDisruptionBudget allows no pod of 2 to be moved/,
    ],
    [
      'a budget that blocks: a percentage that rounds up to all pods',
      { ...minimal, serve: { podDisruptionBudget: { minAvailable: '51%' } } },
      /serve\.podDisruptionBudget allows no pod of 2/,
    ],
    [
      'autoscaling from more to fewer',
      { ...minimal, serve: { autoscaling: { enabled: true, minReplicas: 5, maxReplicas: 3 } } },
      /minReplicas is above maxReplicas/,
    ],
    [
      'autoscaling without a CPU request',
      { ...minimal, serve: { autoscaling: { enabled: true }, resources: { requests: { cpu: null } } } },
      /autoscaling needs serve\.resources\.requests\.cpu/,
    ],
    [
      'public metrics without a token',
      { ...minimal, ingress: { enabled: true }, optionalSecrets: [] },
      /would publish \/metrics without authentication/,
    ],
  ];
  for (const [title, values, message] of refusals)
    helmTest(title, async () => {
      const { exitCode, output } = await template(writeValues(values));
      assert.equal(exitCode, 1, output);
      assert.match(output, message);
      assert.doesNotMatch(output, /nil pointer|<no value>/);
    });

  helmTest('not the addresses that stand for all of a pod', async () => {
    for (const host of ['0.0.0.0', '::']) {
      const values = { ...minimal, config: { ...minimal.config, HOST: host } };
      const { exitCode, output } = await template(writeValues(values));
      assert.equal(exitCode, 0, output);
    }
  });

  helmTest('not a budget that leaves one pod to move', async () => {
    for (const budget of [{ minAvailable: '50%' }, { minAvailable: 1 }, { maxUnavailable: '1%' }]) {
      const { exitCode, output } = await template(
        writeValues({ ...minimal, serve: { podDisruptionBudget: budget } }),
      );
      assert.equal(exitCode, 0, output);
    }
  });
});
