/** The rules of the console's source tree: pages do not know each other, and only src/api sends requests. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importCycles } from './import-cycles.ts';

/** The rules of the audit chain and of transparency logs, which use nothing of Node.js. */
const evidenceOfSdk = ['../../sdk/typescript/src/audit', '../../sdk/typescript/src/transparency'];
/** The request rules and types of the SDK. */
const sdk = '../../sdk/typescript/src';

/** What the files of a folder may import. The sign-in page belongs to the frame: it stands in for all pages. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  api: ['api', sdk],
  app: ['api', 'app', 'components', 'pages/registry.ts', 'pages/sign-in'],
  components: ['api', 'app', 'components'],
  pages: ['api', 'app', 'components', ...evidenceOfSdk],
  'pages/registry.ts': ['app', 'pages'],
  // The consent page is no page of the console's router.
  'main.tsx': ['api', 'app', 'pages/authorize'],
};

const forbidden: Readonly<Record<string, RegExp>> = {
  'requests past src/api': /(?<![\w.])fetch\(|new (EventSource|XMLHttpRequest|WebSocket)\b|\.sendBeacon\(/,
  'markup from text': /dangerouslySetInnerHTML|\.innerHTML\b|insertAdjacentHTML|document\.write/,
  'code from text': /(?<![\w.])eval\(|new Function\(/,
};

/** Every violation as `file: rule`, for the tree at `root` (a folder with `console/src` in it). */
export function findConsoleViolations(root: URL): string[] {
  const folder = join(fileURLToPath(root), 'console/src');
  if (!existsSync(folder)) return [];
  const sources = globSync('**/*.{ts,tsx}', { cwd: folder })
    .filter((file) => file !== 'api/generated.ts')
    .sort()
    .map((file) => ({ file, code: withoutComments(readFileSync(join(folder, file), 'utf8')) }));
  const imports = new Map(sources.map(({ file, code }) => [file, importsOf(file, code)]));
  return [
    ...sources.flatMap(({ file, code }) => violationsOf(file, code)),
    ...importCycles(imports).map((cycle) => `console import cycle: ${cycle.join(' → ')}`),
  ];
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

/** Also a lazy `import()`: a page and its component do not import each other; only pages/registry.ts knows both. */
const importsOf = (file: string, code: string): string[] =>
  [...code.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) =>
    normalize(join(dirname(file), match[1] ?? '')),
  );

function violationsOf(file: string, code: string): string[] {
  const [part = '', page = ''] = file.split('/');
  const isInside = (target: string, place: string) => target === place || target.startsWith(`${place}/`);
  const places = mayImport[file] ?? mayImport[part] ?? [];
  const problems = importsOf(file, code)
    .filter((target) => {
      if (part === 'pages' && isInside(target, `pages/${page}`)) return false;
      return !places.some((place) => isInside(target, place));
    })
    .map((target) => `imports ${target}`);
  for (const [what, pattern] of Object.entries(forbidden))
    if (pattern.test(code) && !(part === 'api' && what === 'requests past src/api'))
      problems.push(`uses ${what}`);
  if (/(^|\/)(utils?|helpers?|types|index)\.tsx?$/.test(file)) problems.push('has a name that says nothing');
  return problems.map((problem) => `console/src/${file}: ${problem}`);
}
