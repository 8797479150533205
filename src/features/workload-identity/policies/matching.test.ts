/** The pure parts: globs, claim paths, GitHub's two subject forms, lookup keys and specificity. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Condition } from '../../../contract/conditions.ts';
import { claimAt } from '../../../kernel/conditions/claims.ts';
import { matchesGlob } from '../../../kernel/conditions/glob.ts';
import type { Provider, TrustPolicy } from '../schema.ts';
import { subjectForms, valuesOf } from './claims.ts';
import { policyKeysOf, subjectPrefixesOf } from './lookup-keys.ts';
import { specificityProblem } from './specificity.ts';

describe('globs', () => {
  for (const [pattern, text, matches] of [
    ['repo:a/b:ref:refs/heads/main', 'repo:a/b:ref:refs/heads/main', true],
    ['repo:a/b:ref:refs/heads/*', 'repo:a/b:ref:refs/heads/main', true],
    ['repo:a/b:ref:refs/heads/*', 'repo:a/b:ref:refs/heads/feature/x', false],
    ['repo:a/*', 'repo:a/b:environment:prod', false],
    ['repo:a/*:*', 'repo:a/b:pull_request', true],
    ['repo:a/*:*', 'repo:a/b:environment:prod', false],
    ['*', 'anything', true],
    ['*', 'any:thing', false],
    ['a*', 'a', true],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'ac', false],
    ['a*a', 'a', false],
    ['*ab*ab*', 'ab', false],
    ['a.c', 'abc', false],
    ['(a+)+$', 'aaaaaaaa', false],
    ['[a-z]', 'b', false],
    ['', '', true],
    ['A', 'a', false],
  ] as const) {
    it(`${pattern} ${matches ? 'matches' : 'does not match'} ${text}`, () =>
      assert.equal(matchesGlob(pattern, text), matches));
  }

  const part = fc
    .array(fc.constantFrom('a', 'b', '*', '/', ':'), { maxLength: 10 })
    .map((all) => all.join(''));
  it('agrees with the equivalent regular expression', () => {
    fc.assert(
      fc.property(part, part, (pattern, given) => {
        const text = given.replaceAll('*', 'a');
        const expression = new RegExp(`^${pattern.replaceAll('*', '[^/:]*')}$`);
        assert.equal(matchesGlob(pattern, text), expression.test(text));
      }),
      { numRuns: 3_000 },
    );
  });
  it('takes linear time for a pattern that backtracks in regular expressions', () => {
    const started = performance.now();
    assert.equal(matchesGlob(`${'a*'.repeat(512)}b`, 'a'.repeat(1024)), false);
    // A backtracking regular expression would not finish.
    assert.ok(performance.now() - started < 5_000);
  });
});

describe('claims', () => {
  const claims = {
    text: 'a',
    number: 7,
    flag: true,
    list: ['x', 3, null, { y: 1 }],
    'kubernetes.io': { namespace: 'prod', 'a/b~c': 'odd' },
    nothing: null,
  };
  for (const [claim, values] of [
    ['text', ['a']],
    ['number', ['7']],
    ['flag', ['true']],
    ['list', ['x', '3']],
    ['kubernetes.io', []],
    ['/kubernetes.io/namespace', ['prod']],
    ['/kubernetes.io/a~1b~0c', ['odd']],
    ['/text', ['a']],
    ['/list/0', ['x']],
    ['/list/9', []],
    ['nothing', []],
    ['missing', []],
    ['/missing/deeper', []],
    ['constructor', []],
    ['/kubernetes.io/__proto__/constructor', []],
  ] as const) {
    it(`${claim} is ${JSON.stringify(values)}`, () =>
      assert.deepEqual(valuesOf(claims, 'custom', claim), values));
  }
  for (const claim of ['text', 'flag', 'list', '/list/3', 'kubernetes.io', '/kubernetes.io/namespace'])
    it(`${claim} exists`, () => assert.notEqual(claimAt(claims, claim), undefined));
  for (const claim of ['nothing', '/list/2', 'missing', '/missing/deeper', 'constructor', '/text/length'])
    it(`${claim} does not exist`, () => assert.equal(claimAt(claims, claim), undefined));
});

describe("GitHub's two subject forms", () => {
  const named = 'repo:octo-org/app:ref:refs/heads/main';
  const numbered = 'repo:octo-org@12/app@34:ref:refs/heads/main';
  const ids = { repository_owner_id: '12', repository_id: '34' };
  it('a subject with ids has the form without; one without ids gets them from other claims', () => {
    assert.deepEqual(subjectForms({ sub: numbered }, 'github'), [numbered, named]);
    assert.deepEqual(subjectForms({ sub: named, ...ids }, 'github'), [named, numbered]);
    assert.deepEqual(subjectForms({ sub: named }, 'github'), [named]);
    assert.deepEqual(subjectForms({ sub: named, repository_owner_id: 'x', repository_id: '*' }, 'github'), [
      named,
    ]);
  });
  it('only with the provider github, and only for subjects of that form', () => {
    assert.deepEqual(subjectForms({ sub: numbered }, 'custom'), [numbered]);
    for (const sub of ['repo:a@b/c', 'environment:prod', 'repo:octo-org', 'repo:a@1:b/c@2'])
      assert.deepEqual(subjectForms({ sub, ...ids }, 'github'), [sub]);
    assert.deepEqual(subjectForms({}, 'github'), []);
  });
  it('a policy in either form is found by the prefixes of a token in either', () => {
    const policy = { audiences: [], conditions: [], issuer: '', jwksUri: null } as unknown as TrustPolicy;
    const token = (claims: object) => subjectPrefixesOf({ claims } as never);
    for (const subject of [
      named,
      numbered,
      'repo:octo-org/*:ref:refs/heads/main',
      'repo:octo-org@12/*',
      null,
    ])
      for (const claims of [{ sub: named, ...ids }, { sub: numbered }]) {
        const { subjectPrefix } = policyKeysOf({ ...policy, subject });
        assert.ok(token(claims).includes(subjectPrefix), `${subject} for ${claims.sub}`);
      }
  });
  it('long subjects are truncated between characters', () => {
    const subject = '😀'.repeat(300);
    const { subjectPrefix } = policyKeysOf({ subject, audiences: [], conditions: [] } as never);
    assert.ok(subjectPrefix.isWellFormed());
    assert.equal([...subjectPrefix].length, 128);
    assert.ok(subjectPrefixesOf({ claims: { sub: subject } } as never).includes(subjectPrefix));
  });
});

describe('specificity', () => {
  const on = (claim: string, operator: Condition['operator'], ...values: string[]): Condition => ({
    claim,
    operator,
    ...(values.length > 0 && { values }),
  });
  const says: [Provider, string | null, Condition[]?][] = [
    ['github', 'repo:octo-org/app:ref:refs/heads/main'],
    ['github', 'repo:octo-org/*:environment:prod'],
    ['github', 'repo:octo-org@12/app@34:*'],
    ['github', 'repo:*@12/*@34:ref:refs/heads/main'],
    ['github', 'repository_owner_id:12:ref:refs/heads/main'],
    ['github', null, [on('repository', 'equals', 'octo-org/app')]],
    ['github', null, [on('repository', 'glob', 'octo-org/*'), on('ref', 'equals', 'refs/heads/main')]],
    ['github', 'environment:prod', [on('repository_id', 'in', '1', '2')]],
    ['github', null, [on('sub', 'in', 'repo:octo-org/app:pull_request')]],
    ['gitlab', 'project_path:group/project:ref_type:branch:ref:main'],
    ['gitlab', null, [on('namespace_id', 'equals', '7')]],
    ['kubernetes', 'system:serviceaccount:prod:deployer'],
    ['kubernetes', 'system:serviceaccount:prod:*'],
    ['kubernetes', null, [on('/kubernetes.io/serviceaccount/uid', 'equals', 'x')]],
    ['aws', 'arn:aws:iam::123456789012:role/deployer'],
    ['aws', 'arn:aws-us-gov:sts::123456789012:assumed-role/*/*'],
    ['aws', 'system:serviceaccount:prod:deployer'],
    ['gcp', '112233445566778899'],
    ['gcp', null, [on('email', 'equals', 'deployer@project.iam.gserviceaccount.com')]],
    ['azure', '8d7c-oid'],
    ['azure', null, [on('azp', 'equals', 'app-1'), on('idtyp', 'equals', 'app')]],
    ['azure', null, [on('idtyp', 'equals', 'app'), on('appid', 'in', 'app-1', 'app-2')]],
    ['gcp', '112233445566778899', [on('azp', 'equals', '112233445566778899')]],
    ['azure', null, [on('xms_mirid', 'equals', '/subscriptions/1/x')]],
    ['spiffe', 'spiffe://prod.example/ns/payments/*'],
    ['custom', 'workload-1'],
    ['custom', 'team/*'],
    ['custom', 'workload-*'],
    ['custom', null, [on('team', 'equals', 'payments')]],
  ];
  for (const [provider, subject, conditions = []] of says) {
    it(`${provider} ${subject} ${JSON.stringify(conditions)} identifies the caller`, () =>
      assert.equal(specificityProblem(provider, subject, conditions), undefined));
  }
  const silent: [Provider, string | null, Condition[]?][] = [
    ['github', null],
    ['github', '*'],
    ['github', 'repo:*'],
    ['github', 'repo:*/*:*'],
    ['github', 'repo:*/app:ref:refs/heads/main'],
    ['github', 'repo:octo-*/app:ref:refs/heads/main'],
    ['github', 'repo:octo-org'],
    ['github', 'ref:refs/heads/main'],
    ['github', 'environment:prod'],
    ['github', 'job_workflow_ref:octo-org/shared/.github/workflows/deploy.yml@refs/heads/main'],
    ['github', null, [on('ref', 'equals', 'refs/heads/main')]],
    ['github', null, [on('environment', 'equals', 'prod')]],
    ['github', null, [on('repository', 'exists')]],
    ['github', null, [on('repository', 'glob', '*/app')]],
    ['github', null, [on('repository', 'glob', 'octo-org/app', '*')]],
    ['github', null, [on('repository_id', 'glob', '1*')]],
    ['github', null, [on('actor', 'equals', 'octocat')]],
    ['github', null, [on('sub', 'glob', 'repo:*/app:*')]],
    ['gitlab', 'project_path:*/project:ref_type:branch:ref:main'],
    ['gitlab', null, [on('ref', 'equals', 'main')]],
    ['kubernetes', 'system:serviceaccount:*:deployer'],
    ['kubernetes', null, [on('/kubernetes.io/serviceaccount/name', 'equals', 'default')]],
    ['aws', 'arn:aws:iam::*:role/deployer'],
    ['gcp', '1122*'],
    ['gcp', null, [on('email', 'glob', '*@project.iam.gserviceaccount.com')]],
    ['gcp', null, [on('azp', 'equals', '32555940559.apps.googleusercontent.com')]],
    ['gcp', null, [on('azp', 'equals', 'x'), on('idtyp', 'equals', 'app')]],
    ['azure', null, [on('tid', 'equals', 'x')]],
    ['azure', null, [on('azp', 'equals', '04b07795-8ddb-461a-bbee-02f9e1bf7b46')]],
    ['azure', null, [on('appid', 'equals', 'app-1'), on('tid', 'equals', 'x')]],
    ['azure', null, [on('azp', 'equals', 'app-1'), on('idtyp', 'exists')]],
    ['azure', null, [on('azp', 'equals', 'app-1'), on('idtyp', 'equals', 'user')]],
    ['azure', null, [on('azp', 'glob', '*'), on('idtyp', 'equals', 'app')]],
    ['azure', null, [on('idtyp', 'equals', 'app')]],
    ['spiffe', 'spiffe://*/ns/payments'],
    ['spiffe', 'spiffe://prod.example/*'],
    ['custom', null],
    ['custom', '*'],
    ['custom', '*:*/*'],
    ['custom', 'ab*'],
    ['custom', 'a/b*'],
    ['custom', 'environment:prod'],
    ['custom', null, [on('ref', 'equals', 'main'), on('environment', 'equals', 'prod')]],
    ['custom', null, [on('aud', 'equals', 'x')]],
    ['custom', null, [on('/environment', 'equals', 'prod')]],
    ['custom', null, [on('/iss', 'equals', 'https://issuer.example')]],
    ['custom', null, [on('/aud/0', 'equals', 'https://us.example')]],
    ['custom', null, [on('/amr/0', 'equals', 'pwd')]],
    ['custom', null, [on('/sub', 'equals', 'environment:prod')]],
    ['custom', null, [on('team', 'exists')]],
    ['custom', null, [on('team', 'glob', '*')]],
  ];
  for (const [provider, subject, conditions = []] of silent) {
    it(`${provider} ${subject} ${JSON.stringify(conditions)} does not identify the caller`, () =>
      assert.match(specificityProblem(provider, subject, conditions) ?? '', /does not say who/));
  }
});
