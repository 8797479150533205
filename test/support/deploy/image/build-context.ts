/** The files of the repository that `.dockerignore` lets through to the builder. */
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Rule {
  readonly include: boolean;
  readonly pattern: string;
  readonly matches: RegExp;
}

export function parseIgnore(text: string): Rule[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line && !line.startsWith('#'))
    .map((line) => {
      const include = line.startsWith('!');
      const pattern = include ? line.slice(1) : line;
      return { include, pattern, matches: toRegExp(pattern) };
    });
}

/** A pattern matches a path and everything below it. */
function toRegExp(pattern: string): RegExp {
  const source = pattern
    .split(/(\*\*\/|\*)/)
    .map((part) => {
      if (part === '**/') return '(?:.*/)?';
      if (part === '*') return '[^/]*';
      return part.replace(/[.+^${}()|[\]\\?]/g, '\\$&');
    })
    .join('');
  return new RegExp(`^${source}(?:/.*)?$`);
}

/** The last rule that matches decides. */
export function isSent(path: string, rules: readonly Rule[]): boolean {
  return rules.findLast(({ matches }) => matches.test(path))?.include ?? true;
}

/** Copies the files that reach the builder from `root` to `target`, and returns their paths. */
export function copyContext(root: string, target: string): string[] {
  const rules = parseIgnore(readFileSync(join(root, '.dockerignore'), 'utf8'));
  const copied: string[] = [];
  const visit = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder ? `${folder}/${entry.name}` : entry.name;
      if (entry.isDirectory()) {
        const mayContain = rules.some(({ include, pattern }) => include && pattern.startsWith(`${path}/`));
        if (isSent(path, rules) || mayContain) visit(path);
      } else if (isSent(path, rules)) {
        mkdirSync(dirname(join(target, path)), { recursive: true });
        cpSync(join(root, path), join(target, path));
        copied.push(path);
      }
    }
  };
  visit('');
  return copied;
}
