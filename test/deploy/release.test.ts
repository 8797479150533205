/** The release workflow: what can be known about it without running it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { problemsOf, versions } from '../../scripts/release-version.ts';
import { runSync, succeedSync } from '../support/child-process.ts';
import { trackedFiles } from '../support/tracked-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(`${root}/.github/workflows/release.yml`, 'utf8');

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly id?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly outputs?: Readonly<Record<string, string>>;
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
      image: { contents: 'read', packages: 'write' },
      sign: { packages: 'write', 'id-token': 'write', attestations: 'write' },
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
    // Whatever signs or publishes; the release page needs all of them.
    for (const [name, job] of Object.entries(jobs))
      if (job.permissions?.['id-token'] ?? job.permissions?.packages)
        assert.equal(job.environment, 'release', name);
    const before = (name: string): string[] =>
      [jobs[name]?.needs ?? []].flat().flatMap((each) => [each, ...before(each)]);
    for (const name of ['image', 'sign', 'chart', 'npm', 'pypi', 'release'])
      assert.deepEqual(
        ['build', 'attest'].filter((each) => !before(name).includes(each)),
        [],
        name,
      );
    for (const name of ['chart', 'npm', 'pypi', 'release']) assert.ok(before(name).includes('sign'), name);
  });

  it('signs packages, image, chart and SBOM', () => {
    const runs = (name: string) => jobs[name]?.steps.map(({ run = '' }) => run).join('\n') ?? '';
    const uses = (name: string) => jobs[name]?.steps.map((step) => step.uses ?? '').join('\n') ?? '';
    assert.match(runs('npm'), /npm publish .*--provenance/);
    assert.match(uses('pypi'), /pypa\/gh-action-pypi-publish@/);
    assert.match(runs('sign'), /cosign sign --yes "\$IMAGE@\$DIGEST"/);
    assert.match(uses('sign'), /attest-build-provenance@[\s\S]*attest-sbom@/);
    assert.match(runs('chart'), /cosign sign --yes .*@\$digest/);
    assert.match(uses('chart'), /attest-build-provenance@/);
    const pypi = jobs.pypi?.steps.find(({ uses: action }) => action?.startsWith('pypa/'))?.with;
    assert.deepEqual(pypi, { 'packages-dir': 'release/python', attestations: true, 'skip-existing': true });
    const image = jobs.image?.steps.find(({ uses: action }) => action?.startsWith('docker/build-push'))?.with;
    assert.deepEqual([image?.provenance, image?.sbom], ['mode=max', true]);
    const attested = String(
      jobs.attest?.steps.find(({ uses: action }) => action?.startsWith('actions/attest'))?.with?.[
        'subject-path'
      ],
    );
    const published = runs('release').match(/release\/\S+/g) ?? [];
    assert.equal(published.length, 5);
    assert.deepEqual(attested.trim().split('\n').toSorted(), published.toSorted());
  });

  const sha256 = (content: string) => createHash('sha256').update(content).digest('hex');

  const runStep = (job: string, name: string, program: string, stub: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-release-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    const script = jobs[job]?.steps.find((step) => step.name === name)?.run ?? '';
    writeFileSync(join(folder, program), `#!/bin/bash\n${stub}\n`, { mode: 0o755 });
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      ...{ GITHUB_OUTPUT: join(folder, 'output'), IMAGE: 'registry/image' },
    };
    const run = (text: string, more?: Readonly<Record<string, string>>) =>
      runSync('bash', ['-ec', text], { cwd: folder, env: { ...env, ...more } });
    return {
      run,
      result: (more?: Readonly<Record<string, string>>) => run(script, more),
      read: (file: string) => readFileSync(join(folder, file), 'utf8'),
    };
  };

  it('publishes what npm does not have, on a second attempt too, and stops at other content', () => {
    const { run, result, read } = runStep(
      'npm',
      'Publish',
      'npm',
      'if [ "$1" = view ]; then cat "view-$2" 2>/dev/null; exit; fi; echo "$2" >> published; [ ! -e "refuses-$(basename "$2")" ]',
    );
    const made = run(`mkdir -p package release/npm 'view-@countersign'
      for name in countersign @countersign/sdk; do
        echo "{\\"name\\": \\"$name\\", \\"version\\": \\"1.2.3\\"}" > package/package.json
        tar -czf "release/npm/$(basename "$name").tgz" package
      done
      echo "sha512-$(openssl dgst -sha512 -binary release/npm/countersign.tgz | base64 --wrap=0)" > view-countersign@1.2.3`);
    assert.equal(made.status, 0, made.stderr);
    const again = result();
    assert.deepEqual([again.status, read('published')], [0, './release/npm/sdk.tgz\n'], again.stderr);
    run('echo sha512-other > view-countersign@1.2.3; touch refuses-countersign.tgz');
    assert.notEqual(result().status, 0);
  });

  it('publishes to PyPI again what has the same content, and stops at other content and at errors', () => {
    const { run, result } = runStep(
      'pypi',
      'Compare with the files that PyPI has',
      'curl',
      'cp "answer-$STATUS" published.json 2>/dev/null; printf %s "$STATUS"',
    );
    const name = 'countersign_sdk-1.2.3.tar.gz';
    const answer = (content: string) =>
      JSON.stringify({ urls: [{ filename: name, digests: { sha256: sha256(content) } }] });
    const stops = (STATUS: string) => result({ STATUS, GITHUB_REF_NAME: 'v1.2.3' }).status !== 0;
    run(`mkdir -p release/python; printf same > release/python/${name}; printf new > release/python/new.whl`);
    run(`printf %s '${answer('same')}' > answer-200`);
    assert.deepEqual(['404', '200', '503'].map(stops), [false, false, true]);
    run(`printf %s '${answer('other')}' > answer-200`);
    assert.deepEqual(['404', '200'].map(stops), [false, true]);
    const last = jobs.pypi?.steps.map(({ name: named, uses }) => named ?? uses?.split('@')[0]);
    assert.deepEqual(last?.slice(-2), [
      'Compare with the files that PyPI has',
      'pypa/gh-action-pypi-publish',
    ]);
  });

  it('makes the package of Python with code that is pinned by its content', () => {
    const runs = jobs.build?.steps.flatMap(({ run = '' }) => run.split('\n')) ?? [];
    assert.deepEqual(
      runs.filter((line) => /pip install|python -m build/.test(line)),
      [
        'python -m pip install --require-hashes --no-deps --only-binary :all: --requirement sdk/python/build-requirements.txt',
        'python -m build --no-isolation --outdir dist-release/python sdk/python',
      ],
    );
    const pinned = readFileSync(`${root}/sdk/python/build-requirements.txt`, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    for (const line of pinned) assert.match(line, /^[a-z-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}$/);
    const names = pinned.map((line) => line.split('==')[0]);
    for (const name of ['build', 'hatchling']) assert.ok(names.includes(name), name);
  });

  it('signs the digest that it has pushed itself, whatever image stands under the tag', () => {
    const { image, sign } = jobs;
    const build = image?.steps.find(({ uses }) => uses?.startsWith('docker/build-push-action@'));
    const expression = (name: string) => ['${', '{ ', name, ' }', '}'].join('');
    assert.equal(image?.outputs?.digest, expression(`steps.${build?.id}.outputs.digest`));
    assert.deepEqual([sign?.needs].flat(), ['image']);
    const digest = expression('needs.image.outputs.digest');
    const signed = sign?.steps.flatMap(({ env, with: options }) => [
      env?.DIGEST ?? [],
      options?.['subject-digest'] ?? [],
    ]);
    assert.deepEqual(signed?.flat(), [digest, digest, digest]);
    // What builds the image runs code that is pinned by no digest: nothing of it beside the right to sign.
    for (const [name, job] of Object.entries(jobs))
      if (job.permissions?.['id-token'])
        assert.ok(!job.steps.some(({ uses }) => /^docker\/(setup|build)/.test(uses ?? '')), name);
    assert.doesNotMatch(text, /imagetools|image\.revision/);
  });

  it('signs nothing without a digest', () => {
    const { run, result, read } = runStep('sign', 'Sign the digest', 'cosign', 'echo "$*" > signed');
    const whole = `sha256:${'a'.repeat(64)}`;
    for (const DIGEST of ['', 'sha256:1', `${whole}0`]) {
      assert.notEqual(result({ DIGEST }).status, 0, DIGEST);
      assert.notEqual(run('cat signed').status, 0, DIGEST);
    }
    assert.equal(result({ DIGEST: whole }).status, 0);
    assert.equal(read('signed'), `sign --yes registry/image@${whole}\n`);
  });

  it('pushes no image over one of a version that was released, also when the answer is an error', () => {
    const { result } = runStep(
      'image',
      'This version was not released before',
      'curl',
      '[ "$STATUS" = none ] && { printf 000; exit 6; }; printf %s "$STATUS"',
    );
    const stops = (STATUS: string) => result({ STATUS }).status !== 0;
    assert.deepEqual(['404', '200', '401', '503', 'none'].map(stops), [false, true, true, true, true]);
    const named = (jobs.image?.steps ?? []).map(({ name, id }) => id ?? name);
    const order = named.filter((name) => name === 'This version was not released before' || name === 'push');
    assert.deepEqual(order, ['This version was not released before', 'push']);
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
    const version = Object.values(all)[0] ?? '';
    assert.match(version, /^\d+\.\d+\.\d+$/);
    // No other file has it, so that none is forgotten.
    const pattern = new RegExp(`(?<![\\d.])${RegExp.escape(version)}(?![\\d.])`);
    const named = new Set(Object.keys(all).map((key) => key.split(',')[0]));
    const others = trackedFiles()
      .filter(
        (path) => /^(package(-lock)?\.json$|(console|deploy|sdk)\/)/.test(path) && !path.endsWith('.md'),
      )
      .filter((path) => !named.has(path) && pattern.test(readFileSync(`${root}/${path}`, 'utf8')));
    assert.deepEqual(others, []);
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
