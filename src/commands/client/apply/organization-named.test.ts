/** Which organization a file means by a slug or a name. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { LiveOrganization } from './file/entries.ts';
import { organizationNamed } from './organization-named.ts';

const organization = (slug: string, name: string, status: LiveOrganization['status'] = 'active') =>
  ({ organizationId: `id of ${slug}`, slug, name, status }) as LiveOrganization;

const organizations = [
  organization('gone', 'Acme', 'deleted'),
  organization('acme-corp', 'Acme'),
  organization('other', 'acme-corp'),
];
const found = (text: string, ...fileSlugs: string[]) =>
  organizationNamed(text, organizations, new Set(fileSlugs)).found?.slug;

it('a deleted organization has no name, and its slug stays taken', () => {
  assert.equal(found('Acme'), 'acme-corp');
  assert.equal(found('gone'), 'gone');
});

it('a slug counts before a name, also one that the file is about to create', () => {
  assert.equal(found('acme-corp'), 'acme-corp');
  assert.equal(found('Acme', 'Acme'), undefined);
  assert.equal(found('unknown'), undefined);
});
