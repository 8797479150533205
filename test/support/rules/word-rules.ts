/** One word per thing in texts that people read: API, plan, organization. docs/glossary.md has the words of the wire. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

const oldWords = /\b(?:resources?|tiers?|tenan(?:ts?|cy))\b/gi;

const allowed: readonly RegExp[] = [
  // Terms of RFC 6749, 8707 and 9728.
  /\bresource[ -](?:servers?|indicators?)\b/gi,
  /\b(?:protected[ -]resource(?: metadata)?|resource metadata)\b/gi,
  // The two kinds of instance that MULTI_TENANT tells apart.
  /\b(?:multi|single)-tenan(?:t|cy)\b/gi,
  // Microsoft's word, on a page about its product.
  /\bEntra ID tenant\b|\(tenant\)/g,
  // Names of the wire in messages: scopes, options, commands, paths, and the parameter that a message is about.
  /\bresources?:\w+|--resources?\b|\bcountersign resources\b|\/(?:resources|tiers)\b/g,
  /\bresource (?:is|must)\b|\b(?:as|by|and) resource\b|\bnames in resources\b/g,
];

export const oldWordsIn = (text: string): string[] =>
  allowed.reduce((rest, phrase) => rest.replace(phrase, ''), text).match(oldWords) ?? [];

/** Each use of an old word in a text that people read, as `file: word in text`, for the tree at `root`. */
export function findOldWords(root: URL): string[] {
  const folder = fileURLToPath(root);
  return readers.flatMap(({ files, textsIn }) =>
    globSync(files, { cwd: folder })
      .filter((file) => !/node_modules|\.test\.tsx?$|(?:^|[/-])(?:store|generated)\.ts$/.test(file))
      .sort()
      .flatMap((file) =>
        textsIn(readFileSync(join(folder, file), 'utf8'), file).flatMap((text) =>
          oldWordsIn(text).map((word) => `${file}: ${word} in ${text.replace(/\s+/g, ' ').trim()}`),
        ),
      ),
  );
}

const readers: readonly { files: string[]; textsIn: (content: string, file: string) => string[] }[] = [
  {
    files: ['*.md', '{docs,deploy,scaffolds}/**/*.md', 'console/README.md', 'sdk/*/README.md'],
    textsIn: (content) => proseOf(content).split('\n'),
  },
  { files: ['openapi.json'], textsIn: (content) => descriptionsIn(JSON.parse(content)) },
  {
    files: ['deploy/{grafana,prometheus}/**/*.{json,yaml}'],
    textsIn: (content) =>
      [...content.matchAll(/^\s*"?(?:title|description|summary)"?: *(.+)$/gm)].map(([, text = '']) =>
        proseOf(text),
      ),
  },
  // A single word of the server is a name, such as the title of a schema.
  {
    files: ['{src,sdk/typescript/src}/**/*.ts'],
    textsIn: (content, file) => textsOf(content, file).filter(isSentence),
  },
  { files: ['console/src/**/*.{ts,tsx}'], textsIn: textsOf },
];

/** Markdown without code, comments, addresses of links, and titles of tests (`file` > title). */
const proseOf = (markdown: string): string =>
  markdown
    .replace(/^ *(```|~~~)[\s\S]*?^ *\1.*$/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/`[\w./-]+\.test\.tsx?` > [^|\n]+/g, '')
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/`[^`]*`/g, ''))
    .join('\n')
    .replace(/\]\([^)]*\)/g, ']');

/** The summaries and descriptions of an OpenAPI document, and the names of its groups. Titles are names of types. */
function descriptionsIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(descriptionsIn);
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) => {
    if (key === 'tags' && Array.isArray(value) && typeof value[0] === 'string') return value;
    const isText = typeof value === 'string' && (key === 'summary' || key === 'description');
    return isText ? [proseOf(value)] : descriptionsIn(value);
  });
}

const isSentence = (text: string): boolean => /\S\s+\S/.test(text);
const isText = (text: string): boolean => isSentence(text) || /^[A-Z][a-z]+$/.test(text.trim());

interface SyntaxNode {
  readonly type?: string;
  readonly value?: unknown;
  readonly key?: { readonly name?: string };
  readonly quasis?: readonly { readonly value: { readonly raw: string } }[];
}

/** The markup and the strings of a program that are sentences, or single words with a capital letter. */
function textsOf(code: string, file: string): string[] {
  const texts: string[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    if (Array.isArray(node) || typeof node !== 'object' || node === null) return;
    const { type, value, key, quasis } = node as SyntaxNode;
    // Keywords are what people may type to find a page, not what they read.
    if (type === 'ImportDeclaration' || (type === 'Property' && key?.name === 'keywords')) return;
    if ((type === 'JSXText' || type === 'Literal') && typeof value === 'string') texts.push(value);
    if (quasis) texts.push(quasis.map((part) => part.value.raw.replaceAll('\\`', '`')).join('…'));
    Object.values(node).forEach(visit);
  };
  visit(parseAst(code, { lang: file.endsWith('x') ? 'tsx' : 'ts' }));
  return texts.filter(isText).map(proseOf);
}
