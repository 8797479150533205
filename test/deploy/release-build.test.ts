/** The files of a release, by the steps of the workflow itself in a copy of the checkout. Nothing is published. */
import assert from 'node:assert/strict';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { succeedSync } from '../support/child-process.ts';
import { findNpm, provideNode } from '../support/deploy/image/npm.ts';
import { findTool, toolIsNeeded } from '../support/deploy/tools.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram } from '../support/programs.ts';
import { trackedFiles } from '../support/tracked-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { env: variables, jobs } = parse(readFileSync(join(root, '.github/workflows/release.yml'), 'utf8'));
const npm = findNpm();
const helm = findTool('helm');
const timeout = 600_000;

it('makes the files of a release, each under a name of its own', { timeout: 1_200_000 }, (t) => {
  if (!npm) return skipWithout(t, 'npm');
  if (!helm) return skipWithout(t, toolIsNeeded('helm'));
  if (!findProgram('python3')) return skipWithout(t, 'python3');
  const folder = mkdtempSync(join(tmpdir(), 'countersign-release-'));
  chmodSync(folder, 0o755);
  after(() => rmSync(folder, { recursive: true, force: true }));
  const checkout = join(folder, 'checkout');
  for (const file of trackedFiles()) cpSync(join(root, file), join(checkout, file));
  for (const part of ['', 'console', 'sdk/typescript'])
    if (existsSync(join(root, part, 'node_modules')))
      symlinkSync(join(root, part, 'node_modules'), join(checkout, part, 'node_modules'));
  succeedSync('python3', ['-m', 'venv', join(folder, 'python')]);
  const { env } = provideNode(join(folder, 'node'), npm);
  const shell = {
    ...env,
    ...variables,
    PATH: [join(folder, 'python/bin'), dirname(helm), env.PATH].join(delimiter),
    GITHUB_REF_NAME: `v${version}`,
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_REPOSITORY: 'Acme/countersign',
    GITHUB_REPOSITORY_OWNER: 'Acme',
  };
  const run = (script: string) =>
    succeedSync('bash', ['-ec', script], { cwd: checkout, env: shell, timeout });
  const steps: { readonly name?: string; readonly run?: string }[] = jobs.build.steps;
  const first = steps.findIndex(({ name }) => name === 'Packages of npm');
  for (const step of steps.slice(first)) if (step.run !== undefined) run(step.run);

  const names = run('cd dist-release && ls -1 npm python chart sbom | grep -v ":$" | grep .')
    .trim()
    .split('\n');
  assert.deepEqual(
    names.toSorted(),
    [
      `countersign-${version}.tgz`,
      `countersign-sdk-${version}.tgz`,
      `countersign_sdk-${version}-py3-none-any.whl`,
      `countersign_sdk-${version}.tar.gz`,
      `countersign-chart-${version}.tgz`,
      `countersign-${version}.cdx.json`,
    ].toSorted(),
  );
  // As a reader checks what the release page has, in one folder.
  run(
    'mkdir page && cp dist-release/*/* dist-release/SHA256SUMS page && cd page && sha256sum --check --strict SHA256SUMS',
  );

  const packaged = (file: string, path: string) => run(`tar -xzOf page/${file} ${path}`);
  for (const [file, directory] of [
    [`countersign-${version}.tgz`, undefined],
    [`countersign-sdk-${version}.tgz`, 'sdk/typescript'],
  ] as const) {
    const { repository, version: own } = JSON.parse(packaged(file, 'package/package.json'));
    assert.equal(own, version);
    // npm refuses a provenance statement of another repository.
    assert.deepEqual(repository, {
      type: 'git',
      url: 'git+https://github.com/Acme/countersign.git',
      ...(directory && { directory }),
    });
  }
  const chart = `countersign-chart-${version}.tgz`;
  assert.match(packaged(chart, 'countersign/values.yaml'), /^ {2}repository: ghcr\.io\/acme\/countersign$/m);
  assert.match(packaged(chart, 'countersign/Chart.yaml'), new RegExp(`^version: ${version}$`, 'm'));
  const sbom = JSON.parse(readFileSync(join(checkout, 'page', `countersign-${version}.cdx.json`), 'utf8'));
  assert.deepEqual([sbom.bomFormat, sbom.metadata.component.version], ['CycloneDX', version]);
  run('python -m pip install --quiet twine && python -m twine check --strict page/countersign_sdk-*');
});
