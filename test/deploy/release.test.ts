/** The release workflow: what can be known about it without running it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { problemsOf, versions } from '../../scripts/release-version.ts';
import { succeedSync } from '../support/child-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(`${root}/.github/workflows/release.yml`, 'utf8');

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly 'timeout-minutes'?: number;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: unknown;
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}
const { on, permissions, jobs } = parse(text) as Workflow;
const steps = Object.values(jobs).flatMap((job) => job.steps);

describe('the release workflow', () => {
  it('runs for tags of versions only', () => {
    assert.deepEqual(on, { push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } });
  });

  it('pins every action to a commit, and names its version', () => {
    const lines = text.split('\n').filter((line) => /^ *(- )?uses:/.test(line));
    assert.equal(lines.length, steps.filter(({ uses }) => uses).length);
    assert.deepEqual(
      lines.filter((line) => !/uses: [\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line)),
      [],
    );
    const pins = new Set(steps.flatMap(({ uses }) => uses ?? []));
    const actions = new Set([...pins].map((pin) => pin.split('@')[0]));
    assert.equal(pins.size, actions.size, 'one commit for each action');
  });

  it('compares the tag with main and with every version before it runs anything else', () => {
    const runs = jobs.build?.steps.flatMap(({ run }) => run ?? []) ?? [];
    assert.match(runs[0] ?? '', /^git merge-base --is-ancestor "\$GITHUB_SHA" origin\/main$/m);
    assert.match(runs[0] ?? '', /^node scripts\/release-version\.ts "\$GITHUB_REF_NAME"$/m);
  });

  it('has scripts that a shell can read, and files that the image needs', () => {
    for (const { run } of steps) if (run) succeedSync('bash', ['-n', '-c', run]);
    const dockerfile = readFileSync(`${root}/deploy/Dockerfile`, 'utf8');
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    assert.ok(sources.length >= 5);
    for (const path of [...sources, 'bin/healthcheck.js', 'bin/countersign.js'])
      assert.ok(existsSync(`${root}/${path}`), path);
  });

  it('gives each file a name of its own: they share one folder on the release page', () => {
    assert.match(
      text,
      /mv "dist-release\/chart\/countersign-\$version\.tgz" "[^"]*countersign-chart-\$version\.tgz"/,
    );
    assert.match(text, /sha256sum npm\/\* python\/\* chart\/\* sbom\/\* \| sed/);
  });

  it('gives each job only what it needs', () => {
    assert.deepEqual(permissions, {});
    const ofJobs = Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job.permissions]));
    assert.deepEqual(ofJobs, {
      build: { contents: 'read' },
      attest: { 'id-token': 'write', attestations: 'write' },
      image: { contents: 'read', packages: 'write', 'id-token': 'write', attestations: 'write' },
      chart: { packages: 'write', 'id-token': 'write', attestations: 'write' },
      npm: { 'id-token': 'write' },
      pypi: { 'id-token': 'write' },
      release: { contents: 'write' },
    });
    for (const [name, job] of Object.entries(jobs)) assert.ok(job['timeout-minutes'], name);
  });

  it('runs scripts of dependencies only where nothing can be signed or published', () => {
    for (const [name, job] of Object.entries(jobs)) {
      const installs = job.steps.some(({ run = '' }) =>
        /\bnpm (ci|install|test|run)\b|pip install/.test(run),
      );
      assert.equal(installs, name === 'build', name);
    }
  });

  it('has no secret, and puts no expression into a shell', () => {
    assert.doesNotMatch(text, /secrets\./);
    assert.deepEqual(
      steps.filter(({ run = '' }) => run.includes('${{')),
      [],
    );
    for (const { uses = '', with: options } of steps)
      if (uses.startsWith('actions/checkout@')) assert.equal(options?.['persist-credentials'], false);
  });

  it('publishes from the environment that a person approves, after build and attestations', () => {
    for (const name of ['image', 'chart', 'npm', 'pypi'])
      assert.equal(jobs[name]?.environment, 'release', name);
    const before = (name: string): string[] =>
      [jobs[name]?.needs ?? []].flat().flatMap((each) => [each, ...before(each)]);
    for (const name of ['image', 'chart', 'npm', 'pypi', 'release'])
      assert.deepEqual(
        ['build', 'attest'].filter((each) => !before(name).includes(each)),
        [],
        name,
      );
  });

  it('signs packages, image, chart and SBOM', () => {
    const runs = (name: string) => jobs[name]?.steps.map(({ run = '' }) => run).join('\n') ?? '';
    const uses = (name: string) => jobs[name]?.steps.map((step) => step.uses ?? '').join('\n') ?? '';
    assert.match(runs('npm'), /npm publish .*--provenance/);
    assert.match(uses('pypi'), /pypa\/gh-action-pypi-publish@/);
    assert.match(runs('image'), /cosign sign --yes "\$IMAGE"/);
    assert.match(uses('image'), /attest-build-provenance@[\s\S]*attest-sbom@/);
    assert.match(runs('chart'), /cosign sign --yes .*@\$digest/);
    assert.match(uses('chart'), /attest-build-provenance@/);
    const pypi = jobs.pypi?.steps.find(({ uses: action }) => action?.startsWith('pypa/'))?.with;
    assert.deepEqual(pypi, { 'packages-dir': 'release/python', attestations: true });
    const image = jobs.image?.steps.find(({ uses: action }) => action?.startsWith('docker/build-push'))?.with;
    assert.deepEqual([image?.provenance, image?.sbom], ['mode=max', true]);
    const attested = String(
      jobs.attest?.steps.find(({ uses: action }) => action?.startsWith('actions/attest'))?.with?.[
        'subject-path'
      ],
    );
    for (const kind of ['npm', 'python', 'chart', 'sbom'])
      assert.match(attested, new RegExp(`^release/${kind}/\\*$`, 'm'));
  });

  it('uses files and scripts that exist, and the versions of our tests', () => {
    const scripts = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')).scripts;
    for (const [, name = ''] of text.matchAll(/npm run (?:--silent )?([\w:]+)/g))
      assert.ok(name in scripts, name);
    for (const path of [
      'scripts/release-version.ts',
      'deploy/Dockerfile',
      'deploy/helm/countersign',
      'sdk/python',
    ])
      assert.ok(text.includes(path) && existsSync(`${root}/${path}`), path);
    const values = readFileSync(`${root}/deploy/helm/countersign/values.yaml`, 'utf8');
    assert.match(values, /^ {2}repository: countersign$/m, 'the workflow replaces this line');
    const node = /^ARG NODE_IMAGE=node:([\d.]+)/m.exec(
      readFileSync(`${root}/deploy/Dockerfile`, 'utf8'),
    )?.[1];
    const helm = /^helm=(.+)$/m.exec(readFileSync(`${root}/scripts/deploy-tools-for-tests.sh`, 'utf8'))?.[1];
    for (const { with: options } of steps) {
      if (options?.['node-version']) assert.equal(options['node-version'], node);
      if (options?.version) assert.equal(options.version, `v${helm}`);
    }
  });
});

describe('the version of a release', () => {
  const changelog = '\n## [1.2.3] - 2027-01-15\n';

  it('is the same in every file', () => {
    const all = versions();
    assert.equal(new Set(Object.values(all)).size, 1, JSON.stringify(all));
    assert.match(Object.values(all)[0] ?? '', /^\d+\.\d+\.\d+$/);
  });

  it('is that of the tag, and has a section in the changelog', () => {
    const files = { 'a.json': '1.2.3', 'b.toml': '1.2.3' };
    assert.deepEqual(problemsOf('v1.2.3', files, changelog), []);
    assert.deepEqual(problemsOf('v1.2.4', files, changelog), [
      'a.json: 1.2.3 instead of 1.2.4',
      'b.toml: 1.2.3 instead of 1.2.4',
      'CHANGELOG.md: no section [1.2.4]',
    ]);
    assert.deepEqual(problemsOf('v1.2.3', { 'a.json': '' }, changelog), [
      'a.json: no version instead of 1.2.3',
    ]);
    for (const tag of ['1.2.3', 'v1.2', 'v1.2.3-rc.1', ''])
      assert.match(problemsOf(tag, files, changelog).join(), /a tag of a release/);
  });
});
