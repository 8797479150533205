/** A real Kafka with deploy/compose/kafka.properties and the secrets of the Compose project, and the variables of compose.kafka.yaml. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createKafkaBroker } from '../../src/adapters/brokers/kafka.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { deployFolder, readProject } from '../support/deploy/compose.ts';
import { isRoot } from '../support/deploy/databases/unprivileged.ts';
import { createSecretsFolder } from '../support/deploy/secrets.ts';
import { environment, skipWithout } from '../support/harness.ts';
import { startKafka } from '../support/peers/brokers.ts';
import { freePort, until } from '../support/programs.ts';

/** The properties of the file, on ports of this machine. The folder for data stays that of the test. */
function settingsOf(secrets: string, ports: Readonly<Record<string, number>>): Record<string, string> {
  const pairs = readFileSync(join(deployFolder, 'compose/kafka.properties'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('log.dirs='))
    .map((line): [string, string] => {
      const at = line.indexOf('=');
      const value = line
        .slice(at + 1)
        .replaceAll(/\b909\d\b/g, (port) => String(ports[port]))
        .replace('//kafka:', '//127.0.0.1:')
        .replace('0.0.0.0', '127.0.0.1')
        .replace('/run/secrets', secrets);
      return [line.slice(0, at), value];
    });
  return Object.fromEntries(pairs);
}

test('a message reaches Kafka, which refuses a client with another password', async (t) => {
  if (!isRoot()) return skipWithout(t, 'root rights');
  const project = readProject(['kafka']);
  const secrets = createSecretsFolder(project);
  await secrets.run();
  const app = secrets.volumes['app-secrets'] ?? '';
  const password = readFileSync(join(app, 'kafka-sasl-password'), 'utf8').trim();
  const brokerPort = await freePort();
  const kafka = await startKafka(
    (port, controllerPort) =>
      settingsOf(secrets.volumes['kafka-secrets'] ?? '', {
        9092: port,
        9093: controllerPort,
        9094: brokerPort,
      }),
    { sasl: { mechanism: 'PLAIN', username: 'countersign', password } },
  );
  if (!kafka) return skipWithout(t, 'Kafka (scripts/kafka-for-tests.sh)');

  const variables = Object.fromEntries(
    Object.entries(project.services.worker?.environment ?? {})
      .filter(([key]) => key.startsWith('KAFKA_'))
      .map(([key, value]) => [
        key,
        value.replace('/run/secrets', app).replace('kafka:9092', `127.0.0.1:${kafka.port}`),
      ]),
  );
  const config = loadConfig(environment('postgres://localhost/unused', variables));
  const open = (password = '') => {
    const { kafkaSaslMechanism: mechanism, kafkaSaslUsername: username = '', kafkaBrokers: brokers } = config;
    assert.ok(mechanism && brokers);
    return createKafkaBroker({
      brokers,
      topicPrefix: 'countersign',
      sasl: { mechanism, username, password },
    });
  };
  const message = { eventId: 'e', organizationId: 'o', type: 'agent.created', envelope: '{}' };
  const { signal } = new AbortController();

  const broker = open(config.kafkaSaslPassword);
  await until('the message is taken', () => broker.publish([message], signal).then(() => true));
  await broker.close();
  assert.deepEqual(
    (await kafka.received()).map(({ value }) => value),
    ['{}'],
  );
  const refused = open('wrong');
  await assert.rejects(refused.publish([message], signal), /authentication/i);
  await refused.close();
});
