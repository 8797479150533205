/** The examples of a guide in one language, in the order of the page, and the output that the guide shows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tabGroups } from '../../../scripts/docs/markdown.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export const tabNames = ['curl', 'Command line', 'TypeScript', 'Python'] as const;

export function tabsOfGuide(name: string) {
  const source = `docs/guides/${name}.md`;
  const markdown = readFileSync(join(root, source), 'utf8');
  const groups = tabGroups(markdown, source);
  const [, output = ''] = /^```text\n([\s\S]*?)^```$/m.exec(markdown) ?? [];
  return {
    names: groups.map((tabs) => tabs.map((tab) => tab.name)),
    codeIn: (tab: (typeof tabNames)[number]): string =>
      groups.map((tabs) => tabs.find((one) => one.name === tab)?.code ?? '').join('\n'),
    output,
  };
}
