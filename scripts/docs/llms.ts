/** The documentation for language models: /llms.txt lists the pages (llmstxt.org), /llms-full.txt has them all. */
import { withoutComments } from './markdown.ts';
import type { Entry, Track } from './navigation.ts';
import { publishedMarkdown } from './pages.ts';

const summary =
  'Countersign is an identity provider for AI agents: a registry of agents, OAuth 2.0 tokens for them, access that people grant, approve and revoke, and an audit log that can be verified. Every page below is Markdown; /openapi.json describes the API.';

/** A reader with little room leaves these out. */
const optional = 'Project';

const withChildren = ({ children, ...entry }: Entry): Entry[] => [
  { ...entry, children },
  ...children.flatMap(withChildren),
];

export const llmsIndex = (tracks: readonly Track[]): string => {
  const sections = tracks.map(({ title, entries }) => {
    const lines = entries
      .flatMap(withChildren)
      .map(({ page, text, description }) => `- [${text}](/docs/${page.path}): ${description}`);
    return `## ${title === optional ? 'Optional' : title}\n\n${lines.join('\n')}\n`;
  });
  return ['# Countersign\n', `> ${summary}\n`, ...sections].join('\n');
};

export const llmsFull = (root: string, tracks: readonly Track[]): string =>
  [
    `# Countersign\n\n> ${summary}\n`,
    ...tracks
      .filter(({ title }) => title !== optional)
      .flatMap(({ entries }) => entries.flatMap(withChildren))
      .map(
        ({ page }) =>
          `<!-- /docs/${page.path} -->\n\n${withoutComments(publishedMarkdown(root, page)).trim()}\n`,
      ),
  ].join('\n');
