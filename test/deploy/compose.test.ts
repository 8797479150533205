/** deploy/compose.yaml with each of its overlays: valid for Compose, hardened, and complete. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { variables } from '../../src/kernel/config/variables.ts';
import {
  type ComposeService,
  composeFiles,
  deployFolder,
  mountsOf,
  networksOf,
  overlays,
  ownServices,
  readProject,
  secondsOf,
} from '../support/deploy/compose.ts';
import { findTool, toolIsNeeded } from '../support/deploy/tools.ts';
import { skipWithout } from '../support/harness.ts';
import { startProgram } from '../support/programs.ts';

const selections = [[], ...overlays.map((name) => [name]), [...overlays]];
const { version } = JSON.parse(readFileSync(join(deployFolder, '../package.json'), 'utf8'));

type Environment = string[] | Readonly<Record<string, string>>;

/** Compose writes variables as a list when it has merged files. */
const settingsOf = (environment: Environment = {}): string[] =>
  (Array.isArray(environment)
    ? environment
    : Object.entries(environment).map(([key, value]) => `${key}=${value}`)
  ).toSorted();

/** Of a range such as `10.0.0.8/29`. */
function rangeOf(range: string): BlockList {
  const [address = '', bits] = range.split('/');
  const list = new BlockList();
  list.addSubnet(address, Number(bits), 'ipv4');
  return list;
}

const isTask = ({ restart }: ComposeService) => restart === 'no';
const hasHealthcheck = ({ healthcheck }: ComposeService) => healthcheck?.test !== undefined;

/** Their images contain nothing that a healthcheck could run. */
const withoutHealthcheck = ['collector', 'jaeger'];

for (const selection of selections) {
  describe(['compose.yaml', ...selection].join(' + '), () => {
    const project = readProject(selection);
    const services = Object.entries(project.services);

    it('is valid for Compose', async (t) => {
      const path = findTool('compose-go');
      if (!path) return skipWithout(t, toolIsNeeded('compose-go'));
      const program = startProgram(path, ['-format', 'json', ...composeFiles(selection)], {
        env: { PATH: process.env.PATH },
        cwd: deployFolder,
      });
      assert.equal(await program.gone(), 0, program.output());
      // Our own merging, on which the other tests rely, gives the same.
      const resolved = JSON.parse(program.stdout()).services as Record<string, { environment?: Environment }>;
      assert.deepEqual(Object.keys(resolved).sort(), services.map(([name]) => name).sort());
      for (const [name, { environment = {} }] of services)
        assert.deepEqual(settingsOf(resolved[name]?.environment), settingsOf(environment), name);
    });

    it('each service is hardened and has limits', () => {
      for (const [name, service] of services) {
        assert.equal(service.read_only, true, name);
        assert.deepEqual(service.cap_drop, ['ALL'], name);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
        assert.match(String(service.user), /^\d+:\d+$/, name);
        assert.equal(service.user === '0:0', name === 'secrets', name);
        assert.deepEqual(
          Object.keys(service.deploy?.resources.limits ?? {}).sort(),
          ['memory', 'pids'],
          name,
        );
        assert.equal(service.logging?.driver, 'local', name);
        assert.ok(service.restart === 'unless-stopped' || isTask(service), name);
        assert.equal(hasHealthcheck(service), !isTask(service) && !withoutHealthcheck.includes(name), name);
      }
    });

    it('images have a fixed version; ours is the version of this package', () => {
      for (const [name, { image }] of services) assert.match(image, /:v?\d+\.\d+|postgres:18-/, name);
      for (const [name, { image }] of ownServices(project))
        assert.equal(image, `countersign:${version}`, name);
    });

    it('only the proxy is reachable from other machines; the data is on an internal network', () => {
      const published = services.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`));
      assert.deepEqual(
        published.filter((port) => !port.includes(' 127.0.0.1:')),
        ['proxy 80:80', 'proxy 443:443', 'proxy 443:443/udp'],
      );
      for (const name of ['postgres', 'redis']) {
        const service = project.services[name];
        assert.ok(service);
        assert.deepEqual(networksOf(service), ['data']);
      }
      assert.equal(project.networks.data?.internal, true);
      for (const [name, service] of services)
        for (const network of networksOf(service))
          assert.ok(network in project.networks, `${name}: ${network}`);
    });

    it('Docker cannot give a fixed address to another service', () => {
      const taken = new Set<string>();
      for (const [name, { networks = {} }] of services)
        for (const [network, member] of Object.entries(networks)) {
          const address = member?.ipv4_address;
          if (!address) continue;
          const pool = project.networks[network]?.ipam?.config[0];
          assert.ok(pool?.gateway && pool.ip_range, `${network}: gateway and ip_range`);
          const title = `${name}: ${address}`;
          assert.ok(rangeOf(pool.subnet).check(address), title);
          assert.ok(!rangeOf(pool.ip_range).check(address), title);
          assert.notEqual(address, pool.gateway, title);
          assert.ok(!taken.has(address), title);
          taken.add(address);
          assert.ok(rangeOf(pool.subnet).check(pool.ip_range.split('/')[0] ?? ''), pool.ip_range);
          assert.ok(rangeOf(pool.subnet).check(pool.gateway), pool.gateway);
          assert.ok(!rangeOf(pool.ip_range).check(pool.gateway), pool.gateway);
        }
      assert.ok(taken.size > 0);
    });

    it('each variable of our services exists; a secret comes from a file', () => {
      const known = Object.values(variables);
      for (const [name, { environment = {} }] of ownServices(project))
        for (const key of Object.keys(environment)) {
          const variable = known.find(({ env, orFile }) => key === env || (orFile && key === `${env}_FILE`));
          assert.ok(variable || /^OTEL_[A-Z_]+$/.test(key), `${name}: ${key}`);
          assert.equal(key.endsWith('_FILE'), variable?.orFile ?? false, `${name}: ${key}`);
        }
    });

    it('no file contains a secret', () => {
      for (const [name, { environment = {} }] of services)
        for (const [key, value] of Object.entries(environment)) {
          if (/PASSWORD|SECRET|TOKEN|KEY/.test(key)) assert.match(key, /_FILE$/, `${name}: ${key}`);
          assert.doesNotMatch(String(value), /:\/\/[^/]*@/, `${name}: ${key}`);
        }
    });

    it('services wait for the services that they need', () => {
      for (const [name, { depends_on: needed = {} }] of services)
        for (const [other, { condition }] of Object.entries(needed)) {
          const service = project.services[other];
          assert.ok(service, `${name} needs ${other}`);
          const expected = isTask(service) ? 'service_completed_successfully' : 'service_healthy';
          assert.equal(condition, expected, `${name} needs ${other}`);
        }
      const waitsFor = (name: string, other: string): boolean =>
        Object.keys(project.services[name]?.depends_on ?? {}).some(
          (needed) => needed === other || waitsFor(needed, other),
        );
      for (const [name, service] of services)
        if (mountsOf(service).some(({ target }) => target === '/run/secrets'))
          assert.ok(waitsFor(name, 'secrets'), name);
      for (const name of ['serve-1', 'serve-2', 'worker']) assert.ok(waitsFor(name, 'migrate'), name);
    });

    it('each mounted file and each volume exists', () => {
      for (const [name, service] of services)
        for (const { source } of mountsOf(service)) {
          if (source.startsWith('.')) assert.ok(existsSync(join(deployFolder, source)), `${name}: ${source}`);
          else assert.ok(source in project.volumes, `${name}: ${source}`);
        }
    });

    it('the nodes and the worker finish before they are killed', () => {
      for (const [name, { environment = {}, stop_grace_period: grace }] of ownServices(project))
        assert.ok(secondsOf(grace) >= Number(environment.SHUTDOWN_DELAY_SECONDS) + 20, name);
    });
  });
}

describe('compose.yaml', () => {
  const { services } = readProject();

  it('builds the image once, from deploy/Dockerfile', () => {
    const built = Object.entries(services).filter(([, { build }]) => build);
    assert.deepEqual(
      built.map(([name, { build }]) => [name, build]),
      [['secrets', { context: '..', dockerfile: 'deploy/Dockerfile' }]],
    );
    assert.ok(existsSync(join(deployFolder, 'Dockerfile')));
  });

  it('the nodes trust the address of the proxy, and the proxy knows the nodes', () => {
    const networks = services.proxy?.networks as Record<string, { ipv4_address: string }> | undefined;
    for (const name of ['serve-1', 'serve-2'])
      assert.equal(services[name]?.environment?.TRUST_PROXY, networks?.front?.ipv4_address);
    assert.equal(services.proxy?.environment?.COUNTERSIGN_NODES, 'serve-1:3000 serve-2:3000');
    assert.equal(
      services['serve-1']?.environment?.BASE_URL,
      `https://${services.proxy?.environment?.COUNTERSIGN_HOST}`,
    );
  });

  it('/metrics of the nodes and the worker asks for a token', () => {
    for (const name of ['serve-1', 'serve-2', 'worker'])
      assert.equal(services[name]?.environment?.METRICS_TOKEN_FILE, '/run/secrets/metrics-token', name);
  });

  it('a node is not ready for longer than the proxy needs to notice', () => {
    const interval = /health_interval (\w+)/.exec(
      readFileSync(join(deployFolder, 'proxies/Caddyfile'), 'utf8'),
    )?.[1];
    const delay = Number(services['serve-1']?.environment?.SHUTDOWN_DELAY_SECONDS);
    assert.ok(delay > secondsOf(interval) * 2, `${delay} s, ${interval}`);
  });
});

describe('addresses in the configuration', () => {
  const { services } = readProject(overlays);
  const read = (path: string) => readFileSync(join(deployFolder, path), 'utf8');
  const { worker, prometheus, grafana, collector } = services;
  const users: [string, ComposeService | undefined, string][] = [
    ['the variables of the worker', worker, Object.values(worker?.environment ?? {}).join('\n')],
    ['prometheus.yml', prometheus, read('prometheus/prometheus.yml').replaceAll(/^ *#.*$/gm, '')],
    ['the data source', grafana, read('grafana/provisioning/datasources/prometheus.yaml')],
    ['collector.yaml', collector, read('compose/collector.yaml')],
    ['the secrets', worker, read('compose/secrets.mjs')],
  ];
  for (const [name, user, text] of users) {
    it(`${name}: each host is a service in a network of the user`, () => {
      assert.ok(user);
      const hosts = [...text.matchAll(/(?<=[@/'\s])([a-z][a-z0-9-]*):\d{4,5}\b/g)].map(
        ([, host = '']) => host,
      );
      assert.ok(hosts.length > 0);
      for (const host of hosts) {
        const service = services[host];
        assert.ok(service, host);
        assert.ok(
          networksOf(service).some((network) => networksOf(user).includes(network)),
          host,
        );
      }
    });
  }

  it('collector.yaml: a pipeline uses only parts that are defined', () => {
    const { service, ...parts } = parse(read('compose/collector.yaml'));
    for (const pipeline of Object.values<Record<string, string[]>>(service.pipelines))
      for (const [kind, names] of Object.entries(pipeline))
        for (const name of names) assert.ok(name in parts[kind], `${kind}: ${name}`);
  });
});
