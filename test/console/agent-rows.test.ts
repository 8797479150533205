/** Labels and rows of agents, as the console writes them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ListedAgent } from '../../console/src/api/generated.ts';
import {
  labelFilter,
  labelProblem,
  labelsOf,
  labelTexts,
} from '../../console/src/pages/agents/form/labels.ts';
import { accessLines, agentsCsv, dayText } from '../../console/src/pages/agents/list/agent-rows.ts';

describe('labels as text', () => {
  it('the first colon ends the key; a label without a value is its key', () => {
    const labels = { team: 'talent', url: 'a:b', plain: '' };
    assert.deepEqual(labelTexts(labels), ['plain', 'team:talent', 'url:a:b']);
    assert.deepEqual(labelsOf(labelTexts(labels)), labels);
  });
  it('keys are in lower case, and blanks around key and value are left out', () => {
    assert.deepEqual(labelsOf([' Team : Talent & co ']), { team: 'Talent & co' });
    assert.equal(labelFilter('Team: talent'), 'team:talent');
  });
  const problems: [what: string, texts: string[], problem: RegExp | undefined][] = [
    ['none', [], undefined],
    ['a good one', ['cost-center/a_b.c:7'], undefined],
    ['no key', [':talent'], /is no key/],
    ['a key with a blank', ['my team:a'], /"my team" is no key/],
    ['a long value', [`a:${'v'.repeat(64)}`], /63 characters/],
    ['too many', Array.from({ length: 21 }, (_, index) => `k${index}:v`), /At most 20/],
  ];
  for (const [what, texts, problem] of problems)
    it(`a problem before the request: ${what}`, () =>
      problem
        ? assert.match(labelProblem(texts) ?? '', problem)
        : assert.equal(labelProblem(texts), undefined));
});

describe('dayText', () => {
  const now = Date.parse('2030-03-01T00:30:00Z');
  const cases: [date: string, text: string][] = [
    ['2030-03-01', 'today'],
    ['2030-02-28', 'yesterday'],
    ['2030-02-01', '28 days ago'],
    ['2029-11-20', '3 months ago'],
  ];
  for (const [date, text] of cases) it(text, () => assert.equal(dayText(date, now), text));
});

describe('accessLines', () => {
  const cases: [apis: number, scopes: string[], text: string][] = [
    [0, [], 'nothing'],
    [1, [], '1 API'],
    [2, ['audit:read'], '2 APIs, Countersign API: 1 scope'],
    [0, ['audit:read', 'agents:read'], 'Countersign API: 2 scopes'],
  ];
  for (const [grantedApis, allowedScopes, text] of cases)
    it(text, () => assert.equal(accessLines({ grantedApis, allowedScopes }).join(', '), text));
});

describe('a file of agents', () => {
  const agent: Partial<ListedAgent> = {
    agentId: 'a1',
    organizationId: 'o1',
    email: 'a@example.com',
    displayName: '=HYPERLINK("x")',
    agentType: 'custom',
    version: '1.0.0',
    deploymentEnv: 'staging',
    owner: '-1',
    status: 'active',
    labels: { team: 'talent' },
    allowedScopes: [],
    createdAt: '2030-01-01T00:00:00.000Z',
  };
  const fileOf = (changes: Partial<ListedAgent>) => agentsCsv([{ ...agent, ...changes } as ListedAgent]);

  it('quotes are doubled, and no cell is a formula', () => {
    const [head, row, end] = fileOf({}).split('\r\n');
    assert.match(head ?? '', /^agentId,email,displayName,/);
    assert.match(row ?? '', /^"a1","a@example.com","'=HYPERLINK\(""x""\)",/);
    assert.match(row ?? '', /"'-1","team:talent"/);
    assert.equal(end, '');
  });

  const owners: [what: string, owner: string, cell: string][] = [
    ['a formula after a semicolon', 'n;=1+1', "n;'=1+1"],
    ['formulas after semicolons and blanks', 'n; @x;-1', "n; '@x;'-1"],
    ['a formula after a tab', 'n\t+1', "n\t'+1"],
    ['a formula on a new line', 'n\n=1', "n\n'=1"],
    ['a formula in full width', '＝1', "'＝1"],
    ['a tab at the beginning', '\tn', "'\tn"],
    ['signs within text', 'a-b; c=d', 'a-b; c=d'],
    ['a bidirectional control', 'a\u202eb', 'a\\u{202e}b'],
    ['a hidden character before a formula', '\u200b=1', '\\u{200b}=1'],
  ];
  for (const [what, owner, cell] of owners)
    it(what, () => assert.ok(fileOf({ owner }).includes(`,"${cell}",`), fileOf({ owner })));

  it('a label with a blank is no second label', () => {
    const file = fileOf({ labels: { team: 'a env:production', tier: '"x"', url: 'a:b' } });
    assert.ok(file.includes(',"""team:a env:production"" ""tier:\\""x\\"""" url:a:b",'), file);
  });
});
