/** The search in the settings of the instance. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findSettings, type Setting } from '../../console/src/pages/settings/find-settings.ts';

const setting = (name: string, value: string | null, group: string, description: string): Setting =>
  ({ name, value, group, description }) as Setting;

const settings = [
  setting('BASE_URL', 'https://id.example.com', 'Addresses', 'The public address of the instance.'),
  setting('AUDIT_ARCHIVE_URL', null, 'Audit log', 'Where the days are archived.'),
  setting('TRUST_PROXY', '10.0.0.0/8', 'Addresses', 'Proxies whose X-Forwarded-For counts.'),
  setting('RATE_LIMIT_PER_MINUTE', '100', 'Limits', 'Requests of an agent or address in a minute.'),
];

describe('findSettings', () => {
  const cases: [what: string, typed: string, found: string[]][] = [
    ['nothing typed', '', ['BASE_URL', 'AUDIT_ARCHIVE_URL', 'TRUST_PROXY', 'RATE_LIMIT_PER_MINUTE']],
    ['blanks alone', ' \t ', ['BASE_URL', 'AUDIT_ARCHIVE_URL', 'TRUST_PROXY', 'RATE_LIMIT_PER_MINUTE']],
    ['the name as it is', 'BASE_URL', ['BASE_URL']],
    ['the name in words, in any case', 'Rate limit', ['RATE_LIMIT_PER_MINUTE']],
    ['words in another order, with blanks around', '  url  audit ', ['AUDIT_ARCHIVE_URL']],
    ['a part of a name, in the order of the settings', '_url', ['BASE_URL', 'AUDIT_ARCHIVE_URL']],
    ['a value', '10.0.0', ['TRUST_PROXY']],
    ['a group', 'addresses', ['BASE_URL', 'TRUST_PROXY']],
    ['a word of the meaning', 'forwarded', ['TRUST_PROXY']],
    ['words of different places', 'addresses public', ['BASE_URL']],
    ['one word that is nowhere', 'base url nowhere', []],
    ['no pattern: a dot is a dot', 'id.example', ['BASE_URL']],
    ['characters of patterns', '(.*', []],
    ['a setting without a value has no word for it', 'null', []],
  ];
  for (const [what, typed, found] of cases)
    it(what, () =>
      assert.deepEqual(
        findSettings(settings, typed).map(({ name }) => name),
        found,
      ),
    );
});
