/** Markdown of the guides: what is prose in it, and examples in several languages. */

/** A fenced block of code, with its indentation. */
const fence = /^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2[`~]* *$/gm;

/** A character that no page has. */
const mark = '\uE000';

/** Applies `change` to everything but code: `[text](target)` in an example is no link. */
export function mapProse(markdown: string, change: (prose: string) => string): string {
  const codes: string[] = [];
  const keep = (code: string) => `${mark}${codes.push(code) - 1}${mark}`;
  const changed = change(markdown.replace(fence, keep).replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, keep));
  const marks = new RegExp(`${mark}(\\d+)${mark}`, 'g');
  const restore = (text: string): string =>
    text.replace(marks, (_, index) => restore(codes[Number(index)] ?? ''));
  return restore(changed);
}

const group = /^<!-- tabs -->\n([\s\S]*?)^<!-- \/tabs -->$/gm;
const tab = /^\*\*(.+)\*\*\n\n```(\w+)\n([\s\S]*?)^```\n*/gm;

interface Tab {
  readonly name: string;
  readonly language: string;
  readonly code: string;
}

function tabsIn(content: string, source: string): Tab[] {
  const rest = content.replaceAll(tab, '').trim();
  if (rest) throw new Error(`${source}: between <!-- tabs --> there is more than names and code: ${rest}`);
  return [...content.matchAll(tab)].map(([, name = '', language = '', code = '']) => ({
    name,
    language,
    code,
  }));
}

/** The examples of a page, group by group. */
export const tabGroups = (markdown: string, source: string): Tab[][] =>
  [...markdown.matchAll(group)].map(([, content = '']) => tabsIn(content, source));

/**
 * Examples of one call in several languages. On a Git host each is a name in bold with a block of code below; the site shows them as
 * tabs.
 */
export const withTabs = (markdown: string, source: string): string =>
  markdown.replace(group, (_, content: string) => {
    const tabs = tabsIn(content, source).map(
      ({ name, language, code }) => `\`\`\`${language} [${name}]\n${code}\`\`\``,
    );
    return `::: code-group\n\n${tabs.join('\n\n')}\n\n:::`;
  });

/** Comments for people who edit the page, such as the name of a test. */
export const withoutComments = (markdown: string): string =>
  mapProse(markdown, (prose) => prose.replace(/^<!--[\s\S]*?-->\n?/gm, ''));

/** As Git hosts name the headings of a page. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
