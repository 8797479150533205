import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { packageRoot } from '../../../../kernel/package-root.ts';
import { CommandError } from '../../../command-error.ts';
import { readIdentity } from './identity-file.ts';

const read = (...texts: string[]) =>
  readIdentity(
    texts.map((text, index) => ({ name: texts.length === 1 ? 'a.yaml' : `${index + 1}.yaml`, text })),
  );

function problemOf(...texts: string[]): string {
  try {
    read(...texts);
  } catch (error) {
    assert.ok(error instanceof CommandError, String(error));
    return error.message;
  }
  throw new Error('no problem');
}

const agent = (more = '') => `version: 1
agents:
  - email: a@example.com
    agentType: screener
    version: 1.0.0
    capabilities: [resume:read]
    owner: talent
    deploymentEnv: production
${more}`;

/** Ten values, each of ten of the one before: a billion. */
const bomb = ['a: &a0 [1,1,1,1,1,1,1,1,1,1]']
  .concat(Array.from({ length: 8 }, (_, n) => `b${n}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(',')}]`))
  .join('\n');

describe('an identity file', () => {
  it('has its kinds, with the position of every value', () => {
    const { agents, grants, webhooks } = read(agent('grants: []\n'));
    assert.equal(agents?.[0]?.value.email, 'a@example.com');
    assert.equal(agents?.[0]?.at('owner'), 'a.yaml:7:12');
    assert.deepEqual(grants, []);
    assert.equal(webhooks, undefined, 'a kind without a key is not managed');
  });

  it('is each example of the guide', () => {
    const guide = readFileSync(new URL('docs/guides/configuration-as-code.md', packageRoot), 'utf8');
    const examples = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => read(text));
    assert.deepEqual(
      examples.map((file) => Object.keys(file).length),
      [6, 5],
    );
  });

  it('may be JSON, several documents and several files', () => {
    const json =
      '{"version": 1, "grants": [{"agent": "a@example.com", "resource": "https://x.example", "scopes": ["a"]}]}';
    const { agents, grants } = read(
      `---\n${agent()}---\n${agent().replace('a@', 'b@')}---\n# nothing\n`,
      json,
    );
    assert.equal(agents?.length, 2);
    assert.equal(agents?.[1]?.at('email'), '1.yaml:13:12');
    assert.equal(grants?.length, 1);
  });

  it('may name a value once and use it often', () => {
    const { agents } = read(
      agent(`    allowedScopes: &scopes [agents:read]
  - email: b@example.com
    agentType: screener
    version: 1.0.0
    capabilities: [resume:read]
    owner: talent
    deploymentEnv: production
    allowedScopes: *scopes
`),
    );
    assert.deepEqual(agents?.[1]?.value.allowedScopes, ['agents:read']);
  });

  const cases: [string, string, string | RegExp][] = [
    ['nothing', '', 'a.yaml: is empty; begin with "version: 1"'],
    ['a list', '- 1\n', 'a.yaml:1:1: must be a map that begins with "version: 1"'],
    ['no version', 'agents: []\n', 'a.yaml:1:1: needs "version: 1", the version of this format'],
    ['another version', 'version: 2\n', /^a\.yaml:1:10: must be 1; /],
    ['an unknown kind', 'version: 1\nagent: []\n', 'a.yaml:2:1: unknown key agent; did you mean agents?'],
    [
      'a kind that is no list',
      'version: 1\nagents:\n',
      'a.yaml:2:1: agents must be a list; an empty one is written as []',
    ],
    [
      'an unknown field',
      agent('    alowedScopes: []\n'),
      'a.yaml:9:5: unknown key alowedScopes; did you mean allowedScopes?',
    ],
    [
      'a part of a field',
      agent('    scopes: []\n'),
      'a.yaml:9:5: unknown key scopes; did you mean allowedScopes?',
    ],
    [
      'a field of an entry in an entry',
      'version: 1\nresources:\n  - identifier: https://x.example\n    name: x\n    scopes: [{name: a, descripton: b}]\n',
      /^a\.yaml:5:24: unknown key descripton; did you mean description\?$/,
    ],
    [
      'a field like none',
      agent('    zzzzzzzz: 1\n'),
      /^a\.yaml:9:5: unknown key zzzzzzzz; known are email, /,
    ],
    [
      'a misspelt field that is needed',
      agent().replace('owner:', 'ownr:'),
      'a.yaml:7:5: unknown key ownr; did you mean owner?',
    ],
    ['a secret', agent('    clientSecret: cs_x\n'), /^a\.yaml:9:5: unknown key clientSecret; known are /],
    ['a field of the prototype', agent('    __proto__: {}\n'), /^a\.yaml:9:5: unknown key __proto__/],
    [
      'missing fields',
      agent().replace(/ *(owner|version: 1\.).*\n/g, ''),
      'a.yaml:3:5: version, owner are missing',
    ],
    ['a missing field', agent().replace(/ *owner.*\n/, ''), 'a.yaml:3:5: owner is missing'],
    [
      'a number for a text',
      agent().replace('1.0.0', '1.0'),
      'a.yaml:5:14: version must be a text; put it in quotes',
    ],
    [
      'a bad version',
      agent().replace('1.0.0', 'one'),
      /^a\.yaml:5:14: version must be: a semantic version such as 1\.4\.0$/,
    ],
    [
      'a wrong word',
      agent().replace('screener', 'screner'),
      /^a\.yaml:4:16: agentType must be one of screener, /,
    ],
    [
      'a text for a list',
      agent().replace('[resume:read]', 'resume:read'),
      'a.yaml:6:19: capabilities must be a list',
    ],
    [
      'a bad item',
      agent().replace('[resume:read]', '[resume]'),
      /^a\.yaml:6:20: capabilities must be: of the form resource:action/,
    ],
    [
      'a label with a bad key',
      agent('    labels: {team: a, Env: b}\n'),
      /^a\.yaml:9:23: labels must be: an object with keys of 1 to 63 characters of a-z, /,
    ],
    [
      'a label that is a number',
      agent('    labels: {team: 7}\n'),
      'a.yaml:9:20: team must be a text; put it in quotes',
    ],
    ['no e-mail', agent().replace('a@example.com', 'a'), 'a.yaml:3:12: email must be: an e-mail address'],
    ['an entry that is a text', 'version: 1\nagents: [a]\n', 'a.yaml:2:10: agents must be a map'],
    ['a tab', 'version: 1\nagents:\n\t- email: a\n', /^a\.yaml:3:1: Tabs are not allowed/],
    ['a repeated key', 'version: 1\nversion: 1\n', 'a.yaml:2:1: the key version is repeated'],
    ['an open bracket', 'version: 1\nagents: [\n', /^a\.yaml:3:1: Flow sequence/],
    ['a tag', 'version: 1\nagents: !!js/function "x"\n', /^a\.yaml:2:9: Unresolved tag/],
    ['an unknown anchor', 'version: 1\nagents: *x\n', 'a.yaml:2:9: names the anchor x, which is not defined'],
    [
      'an anchor in itself',
      'version: 1\nagents: &x [*x]\n',
      /^a\.yaml:2:12: is nested deeper than 32 levels/,
    ],
    ['aliases that grow to a billion values', bomb, /aliases stand for more than 50000 values/],
    ['a deep list', `version: 1\nagents: ${'['.repeat(10_000)}`, /nested/],
    ['a key that is a list', 'version: 1\n? [a]\n: 1\n', /^a\.yaml:2:3: /],
    [
      'many repeated items',
      agent(`    allowedScopes: [${'agents:read, '.repeat(20_000)}]\n`),
      /^a\.yaml:9:20: allowedScopes must have at most 9 items$/,
    ],
    [
      'the same agent twice',
      `${agent()}${agent().slice(agent().indexOf('  - ')).replace('a@', 'A@')}`,
      'a.yaml:9:12: email A@example.com is at a.yaml:3:12 already',
    ],
  ];
  for (const [what, text, expected] of cases)
    it(`is refused with ${what}, in one line with the position`, () => {
      const problem = problemOf(text);
      assert.ok(!problem.includes('\n'), problem);
      if (typeof expected === 'string') assert.equal(problem, expected);
      else assert.match(problem, expected);
    });

  it('is refused with all wrong keys of an entry, and with what is missing besides', () => {
    const wrong = agent('    alowedScopes: []\n    lables: {}\n').replace('version: 1.', 'color: 1.');
    const [first = '', ...others] = problemOf(wrong.replace('owner:', 'ownr:')).split('\n');
    assert.match(first, /^a\.yaml:5:5: unknown key color; known are email, /);
    assert.deepEqual(others, [
      'a.yaml:7:5: unknown key ownr; did you mean owner?',
      'a.yaml:9:5: unknown key alowedScopes; did you mean allowedScopes?',
      'a.yaml:10:5: unknown key lables; did you mean labels?',
      'a.yaml:3:5: version is missing',
    ]);
  });

  it('is refused with all its problems, at most ten of them', () => {
    const wrong = agent().replace('screener', 'x');
    assert.equal(problemOf(wrong, 'version: 3\n').split('\n').length, 2);
    const lines = problemOf(...Array.from({ length: 15 }, () => wrong)).split('\n');
    assert.equal(lines.length, 11);
    assert.equal(lines.at(-1), 'and 5 more problems');
  });

  it('is read no further after 100 problems: a server reads the files of its clients', () => {
    const keys = Array.from({ length: 9_000 }, (_, index) => `k${index}: 1`);
    for (const text of [
      `version: 1\nagents: [{${keys.join(', ')}}]`,
      `version: 1\n${keys.join('\n')}\n`,
      `version: 1\nagents: [${'{},'.repeat(9_000)}]`,
      `version: 1\nagents: [&a {}${',*a'.repeat(9_000)}]`,
    ])
      assert.match(problemOf(text), /\nand 90 more problems$/);
  });

  it('keeps the characters of another party out of its messages', () => {
    assert.match(problemOf('version: 1\n"a\\u001b[31m": 1\n'), /unknown key a\\u\{001b\}\[31m/);
  });
});
