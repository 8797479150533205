/** The version of a release: `node scripts/release-version.ts v0.1.0` fails unless packages, chart, image and compose.yaml have it. */
import { readFileSync } from 'node:fs';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const json = (path: string) => JSON.parse(read(path));
const found = (path: string, pattern: RegExp) => pattern.exec(read(path))?.[1] ?? '';

/** The version that each file has. */
export function versions(): Record<string, string> {
  const { packages } = json('package-lock.json');
  return {
    'package.json': json('package.json').version,
    'package-lock.json': packages[''].version,
    'package-lock.json, console': packages.console.version,
    'package-lock.json, sdk/typescript': packages['sdk/typescript'].version,
    'console/package.json': json('console/package.json').version,
    'sdk/typescript/package.json': json('sdk/typescript/package.json').version,
    'sdk/python/pyproject.toml': found('sdk/python/pyproject.toml', /^version = "(.+)"$/m),
    'deploy/helm/countersign/Chart.yaml, version': found(
      'deploy/helm/countersign/Chart.yaml',
      /^version: (.+)$/m,
    ),
    'deploy/helm/countersign/Chart.yaml, appVersion': found(
      'deploy/helm/countersign/Chart.yaml',
      /^appVersion: "(.+)"$/m,
    ),
    'deploy/Dockerfile': found('deploy/Dockerfile', /^ARG VERSION=(.+)$/m),
    'deploy/compose.yaml': found('deploy/compose.yaml', /:-countersign:(.+)\}$/m),
  };
}

/** The reasons against a release of the tag. */
export function problemsOf(tag: string, files = versions(), changelog = read('CHANGELOG.md')): string[] {
  if (!/^v\d+\.\d+\.\d+$/.test(tag)) return [`${tag}: a tag of a release is v1.2.3`];
  const version = tag.slice(1);
  return [
    ...Object.entries(files)
      .filter(([, each]) => each !== version)
      .map(([file, each]) => `${file}: ${each || 'no version'} instead of ${version}`),
    ...(changelog.includes(`\n## [${version}]`) ? [] : [`CHANGELOG.md: no section [${version}]`]),
  ];
}

if (import.meta.main) {
  const problems = problemsOf(process.argv[2] ?? '');
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
