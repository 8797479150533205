/** No text tells a reader to install a name of ours from a registry before it is released: it may belong to another publisher (decision 029). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { trackedFiles } from './support/tracked-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The texts for readers: pages, programs of the guides, texts of the console and of commands. */
const places = ['*.md', 'docs', 'sdk', 'scaffolds', 'deploy', 'console', 'src', 'bin', 'scripts', 'bench'];
// They report the wrong name.
const reports = ['CHANGELOG.md', 'docs/decisions/029-package-names.md'];

const installs =
  /\b(?:pip3?|pipx|uv(?: pip| tool)?|poetry|npm|pnpm|yarn|bun|deno|jsr|brew|cargo|gem|go|apt(?:-get)?) +(?:install|i|add|get|download)\b([^\n`;&|#]*)/g;
/** `npx` runs what is installed, and otherwise downloads it. With `--no-install` it does not. */
const runsFromRegistry =
  /\b(?:npx|npm (?:exec|init|create)|pnpm dlx|yarn dlx|bunx|bun x|uvx|pipx run|docker pull) +((?!--no-install )[^\n`;&|#]*)/g;
/** The console sets names apart: `npm install <code>…`. */
const withoutTags = (text: string): string => text.replaceAll(/<\/?code>|\{' '\}/gi, ' ');

/** `countersign`, `countersign-sdk`, `countersign[fastapi]`, `@countersign/sdk`: without a path, and not the name of a file. */
const isOurs = (word: string): boolean =>
  /^['"]?(?:npm:|jsr:)?(?:countersign(?:-sdk)?|@countersign\/sdk)(?:\[[\w,]+\])?(?:[@=<>~!:].*)?['"]?$/.test(
    word,
  );

const findings = (text: string): string[] =>
  [installs, runsFromRegistry].flatMap((pattern) =>
    [...withoutTags(text).matchAll(pattern)]
      .filter(([, words = '']) => words.split(/\s+/).some(isOurs))
      .map(([found]) => found.trim()),
  );

describe('names of packages', () => {
  it('no text installs one of our names from a registry', () => {
    const files = trackedFiles(places)
      .filter((file) => !/\.(png|svg|woff2?|ico|lock|sum|jsonl?\.zst)$/.test(file))
      .filter((file) => !reports.includes(file));
    assert.ok(files.length > 500, `${files.length} files`);
    assert.deepEqual(
      files.flatMap((file) =>
        findings(readFileSync(`${root}/${file}`, 'utf8')).map((found) => `${file}: ${found}`),
      ),
      [],
    );
  });

  it('the rule knows the ways to install', () => {
    for (const text of [
      'pip install countersign',
      "pip install 'countersign[archive]'",
      'python -m pip install countersign-sdk==0.1.0',
      'npm install @countersign/sdk fastify',
      'npm i countersign@latest',
      'npx --yes countersign dev',
      'npx countersign console',
      'npm exec -- countersign dev',
      'uv tool install countersign-sdk',
      'yarn dlx @countersign/sdk',
      'docker pull countersign:0.1.0',
      "Run npm install{' '}<code>@countersign/sdk</code>",
      'deno add npm:@countersign/sdk',
      'uv add countersign-sdk',
    ])
      assert.equal(findings(text).length, 1, text);
    for (const text of [
      'pip install ./sdk/python',
      'npx --no-install countersign console',
      'npx biome check',
      "pip install './sdk/python[fastapi]'",
      'npm install /path/to/countersign-0.1.0.tgz',
      'npm install "/tmp/$PACKAGE"',
      'helm install countersign deploy/helm/countersign',
      'npm install fastify',
    ])
      assert.deepEqual(findings(text), [], text);
  });

  it('no project that we give out depends on one of our names', () => {
    const manifests = trackedFiles(['docs', 'scaffolds', 'deploy', 'bench']).filter((file) =>
      /(?:package|package-lock|deno)\.json$|pyproject\.toml$|requirements.*\.txt$|pom\.xml$|Cargo\.toml$|go\.mod$/.test(
        file,
      ),
    );
    assert.ok(manifests.length >= 5, manifests.join());
    for (const file of manifests)
      assert.doesNotMatch(
        readFileSync(`${root}/${file}`, 'utf8'),
        /@countersign\/|countersign-sdk|["']countersign["']\s*:|["']countersign[@=<>~!]/,
        file,
      );
  });

  it('the Python distribution has a name of its own', () => {
    const project = readFileSync(`${root}/sdk/python/pyproject.toml`, 'utf8');
    assert.match(project, /^name = "countersign-sdk"$/m);
    assert.match(project, /^packages = \["src\/countersign"\]$/m);
  });
});
