/** The built documentation: links, Markdown beside the pages, the indexes for language models, and what the build refuses. */
import assert from 'node:assert/strict';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { docsFolder } from '../../scripts/build-docs.ts';
import { moveInlineScripts } from '../../scripts/docs/inline-scripts.ts';
import { findDeadLinks } from '../../scripts/docs/links.ts';
import { mapProse, withTabs } from '../../scripts/docs/markdown.ts';
import { readTracks } from '../../scripts/docs/navigation.ts';
import { readPages } from '../../scripts/docs/pages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const built = (name: string): string => readFileSync(join(docsFolder, name), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'countersign-docs-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const pages = readPages(root);

describe('the built documentation', () => {
  it('has each page as HTML and as Markdown', () => {
    assert.ok(pages.length > 130, `${pages.length} pages`);
    const html = globSync('**/*.html', { cwd: docsFolder }).filter((name) => name !== '404.html');
    assert.deepEqual(html.sort(), pages.map(({ path }) => path.replace(/\.md$/, '.html')).sort());
    for (const { path, title } of pages) {
      assert.match(built(path), /^# /m, path);
      assert.ok(
        built(path.replace(/\.md$/, '.html')).includes(`<title>${escapeHtml(title)} – Countersign`),
        path,
      );
    }
  });

  it('has no dead link, inline script, style attribute or file of another host', () => {
    assert.deepEqual(findDeadLinks(docsFolder), []);
    for (const name of globSync('**/*.html', { cwd: docsFolder })) {
      const html = built(name);
      assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|\sstyle="|<style/, name);
      assert.doesNotMatch(html, /<(?:script|img|link)[^>]+(?:src|href)="(?:https?:)?\/\//, name);
    }
  });

  it('finds a link and an anchor that lead nowhere', () => {
    const copy = join(folder, 'dead');
    cpSync(docsFolder, copy, { recursive: true });
    const file = join(copy, 'guides/webhooks.html');
    const links = ['/docs/guides/nothing', '/docs/guides/dpop#nothing', '#nothing', '/elsewhere', 'webhooks'];
    writeFileSync(
      file,
      built('guides/webhooks.html') + links.map((link) => `<a href="${link}">x</a>`).join(''),
    );
    assert.deepEqual(findDeadLinks(copy), [
      'guides/webhooks.html: /docs/guides/nothing leads nowhere',
      'guides/webhooks.html: /docs/guides/dpop#nothing has no such heading',
      'guides/webhooks.html: #nothing has no such heading',
      'guides/webhooks.html: /elsewhere is outside of /docs',
      'guides/webhooks.html: webhooks is outside of /docs',
    ]);
  });

  it('every link of the Markdown has a target beside it', () => {
    const missing = pages.flatMap(({ path }) => {
      const links = new Set<string>();
      mapProse(built(path), (prose) => {
        for (const [, link = ''] of prose.matchAll(/\]\(([^)\s#]+)/g)) links.add(link);
        return prose;
      });
      return [...links]
        .filter((link) => !/^(?:[a-z]+:|\/openapi\.json$)/.test(link))
        .filter((link) => globSync(join(path, '..', decodeURI(link)), { cwd: docsFolder }).length === 0)
        .map((link) => `${path}: ${link}`);
    });
    assert.deepEqual(missing, []);
  });

  it('has every page that the console leads to', () => {
    const sources = globSync('console/src/**/*.{ts,tsx}', { cwd: root }).map((file) =>
      readFileSync(join(root, file), 'utf8'),
    );
    const guides = sources.flatMap((text) =>
      [...text.matchAll(/\bguide: '([^']+)'|<DocsLink page="([^"]+)"/g)].map(
        ([, one, other]) => one ?? other ?? '',
      ),
    );
    assert.ok(guides.length > 20, `${guides.length} links`);
    const paths = pages.map(({ path }) => path.replace(/\.md$/, ''));
    assert.deepEqual(
      guides.filter((guide) => guide !== 'api' && !paths.includes(guide)),
      [],
    );
  });

  it('llms.txt lists every page by track, and llms-full.txt has them', () => {
    const index = built('llms.txt');
    assert.match(index, /^# Countersign\n\n> /);
    const listed = [...index.matchAll(/^- \[.+?\]\(\/docs\/(\S+?)\): \S/gm)].map(([, path]) => path);
    const all = pages.map(({ path }) => path).filter((path) => path !== 'index.md');
    assert.deepEqual(listed.toSorted(), all.sort());
    const full = built('llms-full.txt');
    const [required = ''] = index.split('## Optional');
    for (const [, path = ''] of required.matchAll(/\]\(\/docs\/(\S+?)\)/g))
      assert.ok(full.includes(built(path).trim()), path);
    assert.ok(!full.includes(built('releasing.md').trim()));
  });
});

describe('the build of the documentation', () => {
  it('refuses a page that the index does not list, and one that it lists twice', () => {
    const extra = {
      source: 'docs/guides/' + 'new.md',
      path: 'guides/new.md',
      title: 'New',
      markdown: '# New\n',
    };
    assert.throws(
      () => readTracks(root, [...pages, extra]),
      /does not list docs\/guides\/new\.md: add a line to a track/,
    );
    const twice = pages.map((page) =>
      page.source === 'docs/README.md'
        ? { ...page, markdown: `${page.markdown}\n- [Again](concepts.md): once more\n` }
        : page,
    );
    assert.throws(() => readTracks(root, twice), /lists docs\/concepts\.md twice: keep one/);
  });

  it('makes tabs of examples with a name each, and refuses other text between them', () => {
    const example = (more = '') =>
      `<!-- tabs -->\n**curl**\n\n\`\`\`sh\ncurl x\n\`\`\`\n${more}\n**TypeScript**\n\n\`\`\`ts\ncall();\n\`\`\`\n<!-- /tabs -->`;
    assert.equal(
      withTabs(example(), 'x.md'),
      '::: code-group\n\n```sh [curl]\ncurl x\n```\n\n```ts [TypeScript]\ncall();\n```\n\n:::',
    );
    assert.throws(
      () => withTabs(example('Then:\n'), 'x.md'),
      /x\.md: .*there is more than names and code: Then:/,
    );
  });

  it('moves inline scripts into files, and refuses styles and handlers', () => {
    const page = (name: string, html: string) => {
      const at = mkdtempSync(join(folder, 'inline-'));
      cpSync(join(docsFolder, 'assets/chunks'), join(at, 'assets/chunks'), { recursive: true });
      writeFileSync(join(at, name), html);
      return at;
    };
    const at = page(
      'a.html',
      '<script id="x">one()</script><script type="module" src="/docs/y.js"></script>',
    );
    moveInlineScripts(at);
    const [, script = ''] =
      /^<script id="x" src="\/docs\/(assets\/inline\.\w+\.js)">/.exec(
        readFileSync(join(at, 'a.html'), 'utf8'),
      ) ?? [];
    assert.equal(readFileSync(join(at, script), 'utf8'), 'one()');
    for (const html of ['<p style="color:red">', '<a onclick="x()">', '<style>p {}</style>'])
      assert.throws(() => moveInlineScripts(page('b.html', html)), /b\.html: <|does not allow/);
  });
});
