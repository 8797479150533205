/** The Helm chart: the objects for its example values, and the values that it refuses. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { secretKey } from '../../scripts/helm/variables-file.ts';
import { type Variable, variables } from '../../src/kernel/config/variables.ts';
import {
  chartFolder,
  helm,
  helmTest,
  type KubernetesObject,
  kubernetes,
  render,
  renderNotes,
  valueFiles,
  writeValues,
} from '../support/deploy/helm.ts';
import { schemaProblems } from '../support/deploy/kubernetes-schemas.ts';
import { findTool } from '../support/deploy/tools.ts';

const hasHelm = findTool('helm') !== undefined;
const allVariables: readonly Variable<unknown>[] = Object.values(variables);
const minimal = { existingSecret: 'countersign', config: { BASE_URL: 'https://id.example.com' } };

const ofKind = (objects: KubernetesObject[], kind: string): KubernetesObject[] =>
  objects.filter((object) => object.kind === kind);
const named = (objects: KubernetesObject[], kind: string, name: string): KubernetesObject => {
  const found = ofKind(objects, kind).find(({ metadata }) => metadata.name === name);
  assert.ok(found, `there is no ${kind} ${name}`);
  return found;
};
/** The pods of Deployments and of `helm test`, as {metadata, spec}. */
const podsOf = (objects: KubernetesObject[]): KubernetesObject[] => [
  ...ofKind(objects, 'Deployment').map(({ spec }) => spec.template),
  ...ofKind(objects, 'Pod'),
];
const containersOf = ({ spec }: KubernetesObject): KubernetesObject[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
];
const matches = (labels: Record<string, string>, selector: Record<string, string>): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);
const componentOf = ({ metadata }: KubernetesObject): string =>
  metadata.labels['app.kubernetes.io/component'];
const envOf = (container: KubernetesObject): Record<string, string> =>
  Object.fromEntries(container.env.map(({ name, value }: { name: string; value: string }) => [name, value]));

/** The paths of the keys with a comment in the line above. */
function commentedPaths(yaml: string): Set<string> {
  const paths = new Set<string>();
  const parents: string[] = [];
  const lines = yaml.split('\n');
  lines.forEach((line, index) => {
    const [, indent = '', name] = /^( *)(\w+):/.exec(line) ?? [];
    if (name === undefined) return;
    parents.length = indent.length / 2;
    parents.push(name);
    if (lines[index - 1]?.startsWith(`${indent}#`)) paths.add(parents.join('.'));
  });
  return paths;
}

describe('the Helm chart', () => {
  const rendered: Record<string, KubernetesObject[]> = {};
  before(async () => {
    if (hasHelm) for (const [name, file] of Object.entries(valueFiles)) rendered[name] = await render(file);
  });

  it('has the version of the package', () => {
    const chart = parse(readFileSync(join(chartFolder, 'Chart.yaml'), 'utf8'));
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    assert.deepEqual([chart.version, chart.appVersion], [version, version]);
  });

  it('has a default and a comment for each value of its schema', () => {
    const schema = JSON.parse(readFileSync(join(chartFolder, 'values.schema.json'), 'utf8'));
    const pathsOf = ({ properties = {} }: KubernetesObject, parent = ''): string[] =>
      Object.entries<KubernetesObject>(properties).flatMap(([name, inner]) => [
        parent + name,
        ...pathsOf(inner, `${parent}${name}.`),
      ]);
    const commented = commentedPaths(readFileSync(join(chartFolder, 'values.yaml'), 'utf8'));
    // Variables have a reference of their own, and Helm gives `global`. Kubernetes has defaults for some fields.
    const undocumented =
      /^global$|^config\.(?!BASE_URL|NODE_ENV)|^otherSecrets\.|^networkPolicy\.egress\.\w+\.|^probes\.\w+\.|resources\.\w+$/;
    assert.deepEqual(
      pathsOf(schema).filter((path) => !undocumented.test(path) && !commented.has(path)),
      [],
    );
  });

  helmTest('passes helm lint with each of its example values', async () => {
    const files = Object.values(valueFiles).flatMap((file) => [file]);
    for (const file of files) {
      const { exitCode, output } = await helm(
        'lint',
        '--strict',
        '--quiet',
        ...kubernetes,
        '--values',
        file,
        chartFolder,
      );
      assert.equal(exitCode, 0, output);
    }
  });

  for (const name of Object.keys(valueFiles)) {
    describe(`with ${name}-values.yaml`, () => {
      helmTest('every object is valid and has no unknown field', async () => {
        const objects = rendered[name] ?? [];
        assert.ok(objects.length >= 4);
        const problems = objects.flatMap((object) =>
          schemaProblems(object).map((problem) => `${object.kind} ${object.metadata.name}: ${problem}`),
        );
        assert.deepEqual(problems, []);
      });

      helmTest('names are unique and short enough, and every object is in the namespace', async () => {
        const objects = rendered[name] ?? [];
        const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
        assert.deepEqual(names, [...new Set(names)]);
        for (const { kind, metadata } of objects) {
          assert.match(metadata.name, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
          assert.equal(metadata.namespace, 'identity', `${kind} ${metadata.name}`);
          for (const value of Object.values<string>(metadata.labels))
            assert.match(value, /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/);
        }
      });

      helmTest('every selector finds the pods of its component, and no others', async () => {
        const objects = rendered[name] ?? [];
        const pods = podsOf(objects);
        const selectors = [
          ...ofKind(objects, 'Deployment').map((each) => [each, each.spec.selector.matchLabels]),
          ...ofKind(objects, 'Service').map((each) => [each, each.spec.selector]),
          ...ofKind(objects, 'PodDisruptionBudget').map((each) => [each, each.spec.selector.matchLabels]),
          ...ofKind(objects, 'NetworkPolicy').map((each) => [each, each.spec.podSelector.matchLabels]),
          ...ofKind(objects, 'Deployment').flatMap((each) =>
            each.spec.template.spec.topologySpreadConstraints.map((constraint: KubernetesObject) => [
              each,
              constraint.labelSelector.matchLabels,
            ]),
          ),
        ];
        for (const [object, selector] of selectors) {
          const found = pods.filter(({ metadata }) => matches(metadata.labels, selector)).map(componentOf);
          assert.deepEqual(found, [componentOf(object)], `${object.kind} ${object.metadata.name}`);
        }
        for (const monitor of ofKind(objects, 'ServiceMonitor')) {
          const { selector, endpoints } = monitor.spec;
          const services = ofKind(objects, 'Service').filter(({ metadata }) =>
            matches(metadata.labels, selector.matchLabels),
          );
          assert.deepEqual(services.map(componentOf), [componentOf(monitor)]);
          assert.equal(endpoints[0].port, services[0].spec.ports[0].name);
        }
        for (const { spec } of ofKind(objects, 'HorizontalPodAutoscaler'))
          assert.equal(named(objects, 'Deployment', spec.scaleTargetRef.name).spec.replicas, undefined);
        for (const { spec } of ofKind(objects, 'Ingress')) {
          const { service } = spec.rules[0].http.paths[0].backend;
          const ports = named(objects, 'Service', service.name).spec.ports;
          assert.ok(ports.some((port: { name: string }) => port.name === service.port.name));
        }
      });

      helmTest('every container has the least rights, and every mount its volume', async () => {
        for (const pod of podsOf(rendered[name] ?? [])) {
          const { spec } = pod;
          assert.equal(spec.automountServiceAccountToken, false);
          assert.equal(spec.enableServiceLinks, false);
          assert.deepEqual(spec.securityContext, {
            runAsNonRoot: true,
            runAsUser: 10001,
            runAsGroup: 10001,
            fsGroup: 10001,
            seccompProfile: { type: 'RuntimeDefault' },
          });
          const volumes: string[] = (spec.volumes ?? []).map((volume: { name: string }) => volume.name);
          assert.deepEqual(volumes, [...new Set(volumes)]);
          for (const container of containersOf(pod)) {
            assert.deepEqual(container.securityContext, {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            });
            assert.ok(container.resources.requests.cpu && container.resources.limits.memory);
            for (const { name: volume } of container.volumeMounts ?? [])
              assert.ok(volumes.includes(volume), `${container.name} mounts ${volume}`);
            const names: string[] = (container.env ?? []).map((each: { name: string }) => each.name);
            assert.deepEqual(names, [...new Set(names)]);
          }
        }
      });

      helmTest('each pod migrates first, is probed, and has the time to stop', async () => {
        for (const deployment of ofKind(rendered[name] ?? [], 'Deployment')) {
          const { spec } = deployment.spec.template;
          assert.deepEqual(
            spec.initContainers.map(({ args }: KubernetesObject) => args),
            [['migrate']],
          );
          assert.equal(spec.initContainers[0].image, spec.containers[0].image);
          assert.equal(spec.containers.length, 1);
          const [container] = spec.containers;
          const port = container.ports[0];
          const variable = componentOf(deployment) === 'worker' ? 'WORKER_PORT' : 'PORT';
          assert.equal(envOf(container)[variable], String(port.containerPort));
          for (const [probe, path] of [
            ['startupProbe', '/livez'],
            ['livenessProbe', '/livez'],
            ['readinessProbe', '/readyz'],
          ] as const)
            assert.deepEqual(container[probe].httpGet, { path, port: port.name });
          const delay = Number(envOf(container).SHUTDOWN_DELAY_SECONDS ?? 0);
          assert.ok(spec.terminationGracePeriodSeconds > delay + 15);
        }
      });

      helmTest('every variable exists, and secrets are files of existing Secrets', async () => {
        const objects = rendered[name] ?? [];
        assert.deepEqual(ofKind(objects, 'Secret'), []);
        assert.deepEqual(ofKind(objects, 'ConfigMap'), []);
        const values = parse(readFileSync(valueFiles[name] ?? '', 'utf8'));
        const foreign: string[] = (values.extraEnv ?? []).map((each: { name: string }) => each.name);
        for (const { spec } of ofKind(objects, 'Deployment').map((each) => each.spec.template)) {
          const { sources } = spec.volumes.find(
            (each: { name: string }) => each.name === 'secrets',
          ).projected;
          const files: string[] = sources.flatMap(({ secret }: KubernetesObject) =>
            secret.items.map(({ path }: { path: string }) => path),
          );
          const expected: string[] = [];
          for (const { name: env, value } of spec.containers[0].env) {
            if (foreign.includes(env)) continue;
            const variable = allVariables.find((each) => each.env === env.replace(/_FILE$/, ''));
            assert.ok(variable, `${env} is no variable`);
            const isFile = variable.orFile && env === `${variable.env}_FILE`;
            assert.equal(variable.orFile, isFile || env === 'REDIS_URL', `${env} is secret`);
            if (!isFile) continue;
            assert.equal(value, `/run/secrets/countersign/${secretKey(variable.env)}`);
            expected.push(secretKey(variable.env));
          }
          assert.deepEqual(files.toSorted(), expected.toSorted());
          for (const { required, env } of allVariables)
            if (required && !(env === 'REDIS_URL' && values.config.REDIS_URL))
              assert.ok(files.includes(secretKey(env)), `${env} is required`);
        }
      });
    });
  }

  helmTest('secrets come from the named Secret, or from another one', async () => {
    const { volumes } = named(rendered.full ?? [], 'Deployment', 'identity').spec.template.spec;
    const volume = (name: string) => volumes.find((each: { name: string }) => each.name === name);
    const { sources, defaultMode } = volume('secrets').projected;
    assert.equal(defaultMode, 0o440);
    assert.deepEqual(
      sources.find(({ secret }: KubernetesObject) => secret.name === 'postgres-app'),
      { secret: { name: 'postgres-app', items: [{ key: 'uri', path: 'database-url' }] } },
    );
    const { items } = sources.find(
      ({ secret }: KubernetesObject) => secret.name === 'countersign-secrets',
    ).secret;
    assert.deepEqual(
      items.filter(({ key, path }: { key: string; path: string }) => key !== path),
      [],
    );
    // The init container sees the URL of the database, and no other secret.
    const plain = named(rendered.minimal ?? [], 'Deployment', 'trial-countersign').spec.template.spec;
    assert.deepEqual(
      plain.initContainers[0].volumeMounts.map(({ name, subPath }: KubernetesObject) => [name, subPath]),
      [
        ['secrets', 'database-url'],
        ['tmp', undefined],
      ],
    );
  });

  helmTest('numbers and flags of config become the text that the server reads', async () => {
    const env = (name: string, deployment: string) =>
      envOf(named(rendered[name] ?? [], 'Deployment', deployment).spec.template.spec.containers[0]);
    assert.equal(env('autoscaling', 'trial-countersign').RATE_LIMIT_PER_MINUTE, '1000000');
    const full = env('full', 'identity');
    assert.equal(full.LOG_REQUESTS_SHARE, '0.01');
    assert.equal(full.MULTI_TENANT, 'true');
    assert.equal(full.WEB_CONCURRENCY, '2');
    assert.equal(full.NODE_ENV, 'production');
  });

  helmTest('without a worker, the pods that serve run the loops', async () => {
    const args = (name: string) =>
      ofKind(rendered[name] ?? [], 'Deployment').map(({ spec }) => spec.template.spec.containers[0].args);
    assert.deepEqual(args('minimal'), [['serve', '--no-worker'], ['worker']]);
    assert.deepEqual(args('no-worker'), [['serve']]);
    for (const kind of ['Service', 'PodDisruptionBudget', 'NetworkPolicy'])
      assert.deepEqual(ofKind(rendered['no-worker'] ?? [], kind).map(componentOf), ['serve']);
  });

  helmTest('a single process without Redis is replaced, never doubled', async () => {
    const { spec } = named(rendered['single-process'] ?? [], 'Deployment', 'trial-countersign');
    assert.deepEqual(spec.strategy, { type: 'Recreate' });
    assert.equal(spec.replicas, 1);
    const { strategy } = named(rendered.minimal ?? [], 'Deployment', 'trial-countersign').spec;
    assert.deepEqual(strategy.rollingUpdate, { maxUnavailable: 0, maxSurge: '25%' });
  });

  helmTest('the autoscaler and the disruption budgets have their values', async () => {
    const objects = rendered.autoscaling ?? [];
    const { spec } = named(objects, 'HorizontalPodAutoscaler', 'trial-countersign');
    assert.deepEqual([spec.minReplicas, spec.maxReplicas], [3, 30]);
    assert.equal(spec.metrics[0].resource.target.averageUtilization, 65);
    assert.equal(named(objects, 'Deployment', 'trial-countersign-worker').spec.replicas, 2);
    const budgets = ofKind(objects, 'PodDisruptionBudget').map((each) => each.spec);
    assert.deepEqual(
      budgets.map(({ minAvailable, maxUnavailable }) => ({ minAvailable, maxUnavailable })),
      [
        { minAvailable: '50%', maxUnavailable: undefined },
        { minAvailable: 1, maxUnavailable: undefined },
      ],
    );
  });

  helmTest('the Ingress has the host of BASE_URL, and its certificate', async () => {
    const { spec } = named(rendered.full ?? [], 'Ingress', 'identity');
    assert.equal(spec.rules[0].host, 'id.example.com');
    assert.deepEqual(spec.tls, [{ hosts: ['id.example.com'], secretName: 'id-example-com' }]);
    assert.equal(spec.ingressClassName, 'public');
  });

  helmTest('Prometheus scrapes both components with the metrics token', async () => {
    const monitors = ofKind(rendered.full ?? [], 'ServiceMonitor');
    assert.deepEqual(monitors.map(componentOf), ['serve', 'worker']);
    for (const { metadata, spec } of monitors) {
      assert.equal(metadata.labels.release, 'prometheus');
      assert.deepEqual(spec.endpoints[0].authorization, {
        type: 'Bearer',
        credentials: { name: 'countersign-secrets', key: 'metrics-token' },
      });
    }
  });

  helmTest('the alert rules are those of deploy/prometheus', async () => {
    const rules = parse(readFileSync(new URL('../../deploy/prometheus/rules.yaml', import.meta.url), 'utf8'));
    const { metadata, spec } = named(rendered.full ?? [], 'PrometheusRule', 'identity');
    assert.deepEqual(spec, rules);
    assert.equal(metadata.labels.release, 'prometheus');
    assert.deepEqual(ofKind(rendered.minimal ?? [], 'PrometheusRule'), []);
  });

  helmTest('certificate authorities reach every container of Countersign', async () => {
    for (const { spec } of ofKind(rendered['external-ca'] ?? [], 'Deployment').map(
      (each) => each.spec.template,
    ))
      for (const container of containersOf({ spec })) {
        const path = envOf(container).NODE_EXTRA_CA_CERTS ?? '';
        assert.ok(
          container.volumeMounts.some(({ mountPath }: { mountPath: string }) =>
            path.startsWith(`${mountPath}/`),
          ),
        );
      }
  });

  helmTest('the network policies allow the needed connections', async () => {
    const portsOf = (rules: KubernetesObject[]) =>
      rules.map(({ ports }) =>
        ports.map(({ port, protocol = 'TCP' }: KubernetesObject) => `${protocol} ${port}`),
      );
    const policy = (name: string, object: string) =>
      named(rendered[name] ?? [], 'NetworkPolicy', object).spec;
    for (const object of ['trial-countersign', 'trial-countersign-worker'])
      assert.deepEqual(portsOf(policy('minimal', object).egress), [
        ['UDP 53', 'TCP 53'],
        ['TCP 5432'],
        ['TCP 6379'],
        ['TCP 443'],
      ]);
    for (const object of ['identity', 'identity-worker'])
      assert.deepEqual(portsOf(policy('full', object).egress), [
        ['UDP 53', 'TCP 53'],
        ['TCP 5432', 'TCP 6432'],
        ['TCP 6380'],
        ['TCP 9093', 'TCP 9094'],
        ['TCP 4222'],
        ['TCP 587', 'TCP 465'],
        ['TCP 443'],
        ['TCP 4318'],
      ]);
    assert.deepEqual(policy('full', 'identity').egress[1].to, [{ ipBlock: { cidr: '10.20.0.0/24' } }]);

    // https goes to public addresses only, unless private targets are allowed.
    const https = policy('minimal', 'trial-countersign').egress.at(-1).to;
    assert.deepEqual(
      https.map(({ ipBlock }: KubernetesObject) => ipBlock.cidr),
      ['0.0.0.0/0', '::/0'],
    );
    assert.ok(https[0].ipBlock.except.includes('169.254.0.0/16'));
    assert.equal(policy('external-ca', 'trial-countersign').egress.at(-1).to, undefined);

    // All may call the API, until the policy names the callers; then Prometheus and `helm test` may, too.
    const [open] = policy('minimal', 'trial-countersign').ingress;
    assert.deepEqual(open, { ports: [{ port: 3000, protocol: 'TCP' }] });
    const [limited] = policy('full', 'identity').ingress;
    const namespaces = limited.from.map(
      ({ namespaceSelector }: KubernetesObject) =>
        namespaceSelector?.matchLabels['kubernetes.io/metadata.name'],
    );
    assert.deepEqual(namespaces, ['ingress', 'monitoring', undefined]);
    const [testPod] = ofKind(rendered.full ?? [], 'Pod');
    assert.ok(matches(testPod.metadata.labels, limited.from[2].podSelector.matchLabels));
    const [metrics] = policy('full', 'identity-worker').ingress;
    assert.equal(metrics.from.length, 1);
    assert.deepEqual(metrics.ports, [{ port: 3001, protocol: 'TCP' }]);
  });

  helmTest('the notes after an installation have the next steps, and missing settings', async () => {
    const minimalNotes = await renderNotes('--values', valueFiles.minimal ?? '');
    assert.match(minimalNotes, /exec deployment\/trial-countersign .* node bin\/countersign\.js bootstrap$/m);
    assert.match(
      minimalNotes,
      /There is no Ingress: the Service trial-countersign has plain HTTP on port 80/,
    );
    assert.match(minimalNotes, /config\.TRUST_PROXY is not set/);
    assert.match(minimalNotes, /database 5432; redis 6379; https 443;/);
    const fullNotes = await renderNotes('--values', valueFiles.full ?? '', '--is-upgrade');
    assert.match(fullNotes, /logs deployment\/identity --container migrate/);
    assert.doesNotMatch(fullNotes, /bootstrap|no Ingress|TRUST_PROXY|unencrypted/);
    for (const name of Object.keys(valueFiles))
      assert.doesNotMatch(await renderNotes('--values', valueFiles[name] ?? ''), /<no value>|map\[|%!/);
  });

  helmTest('accepts the values in the guides, and the values of a chart that contains it', async () => {
    const guides = ['kubernetes.md', 'kubernetes-network-and-scale.md'].map((name) =>
      readFileSync(new URL(`../../docs/operations/${name}`, import.meta.url), 'utf8'),
    );
    const blocks = guides.flatMap((guide) =>
      [...guide.matchAll(/^```yaml\n([^`]*)^```$/gm)].map(([, text = '']) => parse(text)),
    );
    const values = blocks.filter((block) => block.apiVersion === undefined);
    assert.ok(values.length >= 5);
    for (const each of [...values, { global: { domain: 'example.com' } }]) {
      const objects = await render(writeValues(minimal), writeValues(each));
      assert.deepEqual(objects.flatMap(schemaProblems), []);
    }
  });

  helmTest('a user that the cluster assigns: null removes the defaults', async () => {
    const objects = await render(
      writeValues({ ...minimal, podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } }),
    );
    for (const { spec } of podsOf(objects))
      assert.deepEqual(spec.securityContext, {
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
  });

  helmTest('a long name of the release leaves room for the suffixes', async () => {
    const { exitCode, output } = await helm(
      ...['template', 'a-release-with-a-name-of-fifty-three-characters-long', chartFolder, ...kubernetes],
      ...['--values', valueFiles.minimal ?? ''],
    );
    assert.equal(exitCode, 0, output);
    for (const [, name = ''] of output.matchAll(/^ {2}name: (\S+)$/gm)) assert.ok(name.length <= 60, name);
  });
});
