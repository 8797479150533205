/** The groups of the navigation, and the words for the role of a session. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, it } from 'node:test';
import { groupPages } from '../../console/src/app/navigation-groups.ts';
import type { Page } from '../../console/src/app/page.ts';
import { sessionRole } from '../../console/src/app/session-role.ts';

const root = new URL('../../console/src/pages/', import.meta.url);
const files = globSync('*/page.ts', { cwd: root.pathname });
const modules: Record<string, Page>[] = await Promise.all(
  files.map((file) => import(new URL(file, root).href)),
);
const pages = modules.flatMap((module) => Object.values(module));

describe('navigation', () => {
  it('has no group of one: such a page stands at the top', () => {
    const shown = pages.filter(({ path }) =>
      ['/approvals', '/agents', '/apis', '/compliance'].includes(path),
    );
    const groups = groupPages(shown).map(({ name, entries }) => [name, entries.map(({ path }) => path)]);
    assert.deepEqual(groups, [
      [null, ['/approvals', '/compliance']],
      ['Identity', ['/agents', '/apis']],
    ]);
  });

  it('has another icon for each entry', () => {
    const icons = pages.flatMap(({ navigation }) => navigation?.icon ?? []);
    assert.deepEqual(icons.length, new Set(icons).size);
  });
});

describe('sessionRole', () => {
  const person = { personId: 'p', name: 'Ada', email: null };
  const cases = [
    [{ role: 'none', scopes: ['admin:orgs'], person: null }, 'Operator', false],
    [{ role: 'admin', scopes: [], person: null }, 'Admin', true],
    [{ role: 'viewer', scopes: [], person }, 'Viewer', true],
    [{ role: 'member', scopes: [], person }, 'Member', true],
    [{ role: 'none', scopes: ['agents:read'], person: null }, 'Agent', true],
  ] as const;
  for (const [session, name, ofOrganization] of cases)
    it(`${name} for the role ${session.role}`, () => {
      const role = sessionRole(session);
      assert.deepEqual([role.name, role.ofOrganization], [name, ofOrganization]);
    });
});
