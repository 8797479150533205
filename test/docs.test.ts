/** Docs: every relative link and anchor has a target, and the README stays short. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...globSync('docs/**/*.md', { cwd: root }),
];
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Code is not prose: `[text](target)` in an example is no link, and `# comment` in a shell command no heading. */
const withoutCode = (markdown: string): string =>
  markdown
    .replace(/^ *(```|~~~)[\s\S]*?^ *\1.*$/gm, '')
    .replace(/`[^`\n]*`/g, (code) => 'x'.repeat(code.length));

const linksIn = (markdown: string): string[] => {
  const prose = withoutCode(markdown);
  const inline = [...prose.matchAll(/\]\(\s*<?([^)>\s]+)>?(?:\s+"[^"]*")?\s*\)/g)];
  const definitions = [...prose.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$/gm)];
  return [...inline, ...definitions].map(([, target = '']) => target);
};

/** As GitHub names the headings of a page. */
const anchorsIn = (markdown: string): Set<string> => {
  const prose = markdown.replace(/^ *(```|~~~)[\s\S]*?^ *\1.*$/gm, '');
  const anchors = new Set<string>();
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replace(/ /g, '-');
    let anchor = slug;
    for (let number = 1; anchors.has(anchor); number += 1) anchor = `${slug}-${number}`;
    anchors.add(anchor);
  }
  return anchors;
};

function problemOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : relative(root, join(root, dirname(page), decodeURI(path)));
  if (target.startsWith('..')) return `${link}: outside the repository`;
  if (!existsSync(join(root, target))) return `${link}: there is no ${target}`;
  if (anchor === undefined || !statSync(join(root, target)).isFile()) return undefined;
  return anchorsIn(read(target)).has(anchor) ? undefined : `${link}: ${target} has no heading #${anchor}`;
}

const isRelative = (link: string): boolean => !/^[a-z][a-z0-9+.-]*:/i.test(link);

describe('documentation', () => {
  for (const page of pages) {
    it(`${page}: every relative link and anchor has a target`, () => {
      const problems = linksIn(read(page))
        .filter(isRelative)
        .flatMap((link) => problemOf(page, link) ?? []);
      assert.deepEqual(problems, []);
    });
  }

  it('every docs page that the code names exists', () => {
    const files = globSync('{src,test,bench,scripts,migrations}/**/*.{ts,sql}', { cwd: root });
    const missing = files.flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/[\w./-]+\.md\b/g)]
        .filter(([path]) => !existsSync(join(root, path)))
        .map(([path]) => `${file}: ${path}`),
    );
    assert.deepEqual(missing, []);
  });

  it('every page of docs/ can be reached from README.md', () => {
    const reached = new Set(['README.md']);
    for (const page of reached) {
      for (const link of linksIn(read(page)).filter(isRelative)) {
        const path = link.split('#')[0] ?? '';
        const target = relative(root, join(root, dirname(page), path));
        if (path.endsWith('.md') && existsSync(join(root, target))) reached.add(target);
      }
    }
    assert.deepEqual(
      pages.filter((page) => !reached.has(page)),
      [],
    );
  });

  it('README.md has at most 150 lines', () => {
    const lines = read('README.md').trimEnd().split('\n').length;
    assert.ok(lines <= 150, `${lines} lines`);
  });
});

/** The cells of the first column of the table after a text. */
const firstColumnAfter = (page: string, text: string): string[] => {
  const markdown = read(page);
  assert.ok(markdown.includes(text), `${page}: ${text}`);
  const [, table = ''] = /^(\|[\s\S]*?)\n(?!\|)/m.exec(markdown.slice(markdown.indexOf(text))) ?? [];
  return table
    .split('\n')
    .slice(2)
    .map((row) => row.split('|')[1]?.trim() ?? '');
};
const assertRows = (rows: readonly string[], ...patterns: RegExp[]) => {
  for (const pattern of patterns)
    assert.ok(
      rows.some((row) => pattern.test(row)),
      `${pattern} in ${JSON.stringify(rows)}`,
    );
};

/** Rows name tests as `file` > title, in which … stands for any text. */
const testsNamedIn = (page: string): [file: string, title: string][] =>
  [...read(page).matchAll(/`([\w./-]+\.test\.tsx?)` > ([^|\n]+?) \|/g)].map(([, file = '', title = '']) => [
    file,
    title,
  ]);

describe('evidence', () => {
  it('every test that docs/evidence and the threat model name exists', () => {
    const named = globSync('docs/{evidence,security}/*.md', { cwd: root }).flatMap(testsNamedIn);
    assert.ok(named.length > 100, `${named.length} tests`);
    const plain = (text: string) => text.replace(/[`'"\\]/g, '').replace(/\s+/g, ' ');
    const missing = named.filter(([file, title]) => {
      if (!existsSync(join(root, file))) return true;
      if (title === 'all tests') return false;
      const [, vector] = /^the vector "(.+)"$/.exec(title) ?? [];
      const source = plain(read(vector ? 'sdk/vectors.json' : file));
      return !(vector ?? title)
        .split('…')
        .map((part) => plain(part).trim())
        .every((part) => source.includes(part));
    });
    assert.deepEqual(missing, []);
  });
});

/** The rows of the tables whose last column is the test. */
const rowsWithTests = (page: string): string[] =>
  [...read(page).matchAll(/^\|.*\| Test \|\n\|[-|]+\n((?:\|.*\n)+)/gm)].flatMap(([, rows = '']) =>
    rows.trimEnd().split('\n'),
  );

describe('the threat model', () => {
  const page = 'docs/security/threat-model.md';

  it('names a test for every attempt', () => {
    const rows = rowsWithTests(page);
    assert.ok(rows.length > 80, `${rows.length} rows`);
    assert.deepEqual(
      rows.filter((row) => !/\| `[\w./-]+\.test\.tsx?` > [^|\n]+ \|$/.test(row)),
      [],
    );
  });

  it('says for every attacker what does not hold', () => {
    const attackers = read(page)
      .split(/^## /m)
      .filter((section) => section.includes('| Attempt |'));
    assert.ok(attackers.length >= 13, `${attackers.length} attackers`);
    assert.deepEqual(
      attackers.filter((section) => !/\n\*\*Does not hold\*\*\n\n- /.test(section)),
      [],
    );
  });
});

describe('limits that readers must know', () => {
  it('the delay of ten seconds without Redis is documented for every kind of end', () => {
    const rows = firstColumnAfter('docs/operations/outages.md', 'a delay of up to ten seconds');
    assertRows(
      rows,
      /token is revoked/,
      /credential is revoked/,
      /agent.*suspended/,
      /organization.*suspended/,
    );
    assertRows(rows, /`allowedScopes`/, /delegation/, /grant/, /share/);
  });

  it('the effects of a wrong clock are documented', () => {
    const rows = firstColumnAfter('docs/operations/outages.md', '## Wrong clocks');
    assertRows(rows, /delegations/, /rate windows/, /dates of audit events/, /lifetime of a token/);
  });

  it('the guide says which claims may carry authorization', () => {
    const rows = firstColumnAfter('docs/guides/protecting-your-api.md', '### Claims about the agent');
    assertRows(rows, /`scope`/, /`organization_id`/, /`owner`.* without `act`/, /token with `act`/);
  });

  it('the guide says that ports of one host share the cookie on plain http', () => {
    const guide = read('docs/guides/console-sign-in.md');
    assert.match(guide, /cookies by host, not by port/);
    assert.match(guide, /plain http/);
  });

  it('the oracle of e-mail addresses on a single-tenant instance is documented', () => {
    assert.match(read('SECURITY.md'), /MULTI_TENANT=true[\s\S]*a 409 `AGENT_ALREADY_EXISTS` then tells/);
  });

  it('no example trusts a network as a proxy that has more than the proxy', () => {
    const examples = [...pages, ...globSync('deploy/**/*.{yaml,yml,env,txt,conf,service}', { cwd: root })];
    const networks = examples.flatMap((file) =>
      [...read(file).matchAll(/\bTRUST_PROXY\b["']?\s*[:=]\s*["']?([\d.]+)\/(\d+)/g)].map(
        ([, address, bits]) => ({ file, address, bits: Number(bits) }),
      ),
    );
    assert.ok(networks.length > 0);
    assert.deepEqual(
      networks.filter(({ bits }) => bits < 24),
      [],
    );
    for (const page of ['docs/operations/hardening.md', 'docs/operations/kubernetes.md'])
      assert.match(read(page), /TRUST_PROXY[^\n]*and nothing else/, page);
  });
});
