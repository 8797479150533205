import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { validate } from '@cedar-policy/cedar-wasm/nodejs';
import { policyActions } from '../contract/actions.ts';
import { createLog } from '../kernel/observability/log.ts';
import type { PolicyRequest } from '../kernel/policy.ts';
import { createCedar, digestOf, readPolicies, shippedPolicies } from './cedar.ts';

const shipped = fileURLToPath(new URL('../../policies/', import.meta.url));
const schemaFile = join(shipped, 'schema.cedarschema');

function engineWith(files: Record<string, string> | undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-policies-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  if (files) for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  else cpSync(shipped, folder, { recursive: true });
  const logged: string[] = [];
  const log = createLog({ level: 'warn', destination: { write: (line) => void logged.push(line) } });
  return { engine: createCedar({ folder, schemaFile, log }), logged };
}

const home = '11111111-1111-4111-8111-111111111111';
const question = (changes: Partial<PolicyRequest> = {}): PolicyRequest => ({
  agentId: '22222222-2222-4222-8222-222222222222',
  organizationId: home,
  scopes: [],
  role: 'none',
  action: 'organizations:read',
  resource: { type: 'Organization', id: home },
  ...changes,
});

describe('the default policies', () => {
  const { engine } = engineWith(undefined);
  const elsewhere = { type: 'Organization', id: '33333333-3333-4333-8333-333333333333' } as const;
  const instance = { type: 'Instance' } as const;
  const resourceOf = (action: string) =>
    /create|list|^federation|approve/.test(action) ? instance : question().resource;

  it('allow an operator every action in every organization', () => {
    for (const action of policyActions) {
      const resource = resourceOf(action) === instance ? instance : elsewhere;
      assert.ok(engine.allows(question({ action, resource, scopes: ['admin:orgs'] })), action);
    }
  });
  it('allow an admin to read and rename its own organization, add members, manage people, list, manage billing and webhooks, grant to agents, decide on shares, and nothing else', () => {
    const allowed = policyActions.filter((action) =>
      engine.allows(question({ action, resource: resourceOf(action), role: 'admin' })),
    );
    assert.deepEqual(allowed.toSorted(), [
      'agents:grant',
      'billing:manage',
      'dids:resolve',
      'organizations:addMember',
      'organizations:list',
      'organizations:managePeople',
      'organizations:read',
      'organizations:rename',
      'shares:decide',
      'webhooks:read',
      'webhooks:write',
    ]);
    for (const action of allowed.filter((action) => action !== 'organizations:list')) {
      assert.equal(
        engine.allows(question({ action, resource: elsewhere, role: 'admin' })),
        false,
        `${action} elsewhere`,
      );
    }
  });
  it('allow members and agents of other organizations nothing, with any other scopes', () => {
    for (const action of policyActions.filter((action) => action !== 'dids:resolve')) {
      for (const role of ['member', 'none'] as const) {
        const scopes = ['agents:read', 'agents:write', 'tokens:read', 'audit:read'];
        assert.equal(engine.allows(question({ action, resource: resourceOf(action), role, scopes })), false);
      }
    }
  });
  it('allow every agent to resolve DIDs of its own organization only', () => {
    const action = 'dids:resolve';
    assert.ok(engine.allows(question({ action, resource: resourceOf(action), role: 'none', scopes: [] })));
    assert.equal(engine.allows(question({ action, resource: elsewhere, role: 'admin' })), false);
  });
  it('allow the webhook scopes their actions in the own organization', () => {
    const asked = (
      action: 'webhooks:read' | 'webhooks:write',
      scope: string,
      resource = question().resource,
    ) => engine.allows(question({ action, resource, scopes: [scope] }));
    assert.deepEqual(
      [asked('webhooks:read', 'webhooks:read'), asked('webhooks:write', 'webhooks:write')],
      [true, true],
    );
    assert.deepEqual(
      [asked('webhooks:read', 'webhooks:write'), asked('webhooks:write', 'webhooks:read')],
      [false, false],
    );
    assert.equal(asked('webhooks:read', 'webhooks:read', elsewhere), false);
    assert.equal(asked('webhooks:write', 'webhooks:write', elsewhere), false);
  });
  it('allow resources:write to grant scopes of the resources of the own organization', () => {
    const asked = (scope: string, resource = question().resource) =>
      engine.allows(question({ action: 'resources:grant', resource, scopes: [scope] }));
    assert.deepEqual(
      [asked('resources:write'), asked('resources:read'), asked('resources:write', elsewhere)],
      [true, false, false],
    );
  });
  it('the schema has every action of the contract', () => {
    const schema = readFileSync(schemaFile, 'utf8');
    for (const action of policyActions) assert.ok(schema.includes(`"${action}"`), action);
  });
  it('are valid, and cedar.ts has their digest: a start does not validate them again', () => {
    const schema = readFileSync(schemaFile, 'utf8');
    const policies = readPolicies(shipped);
    const answer = validate({ schema, policies: { staticPolicies: Object.values(policies).join('\n') } });
    assert.deepEqual(answer, {
      type: 'success',
      validationErrors: [],
      validationWarnings: [],
      otherWarnings: [],
    });
    assert.equal(
      shippedPolicies,
      digestOf(schema, policies),
      'put the digest of the changed policies into cedar.ts',
    );
  });
  it('every file of the folder is loaded', () => {
    assert.ok(readdirSync(shipped).filter((file) => file.endsWith('.cedar')).length >= 2);
  });
});

describe('the policy engine', () => {
  it('applies the given files', () => {
    const { engine } = engineWith({ 'all.cedar': 'permit (principal, action, resource);' });
    assert.ok(engine.allows(question()));
  });
  it('denies when no policy matches', () => {
    const { engine } = engineWith({ 'none.cedar': 'forbid (principal, action, resource);' });
    assert.equal(engine.allows(question({ scopes: ['admin:orgs'] })), false);
  });
  it('denies and logs when a policy cannot be evaluated, even if another permits', () => {
    const { engine, logged } = engineWith({
      'a.cedar': 'permit (principal, action, resource);',
      'b.cedar': 'forbid (principal, action, resource) when { 9223372036854775807 + 1 > 0 };',
    });
    assert.equal(engine.allows(question()), false);
    assert.match(logged.join(''), /could not be evaluated/);
  });
  it('denies and logs when the request does not match the schema', () => {
    const { engine, logged } = engineWith({ 'all.cedar': 'permit (principal, action, resource);' });
    assert.equal(engine.allows(question({ action: 'organizations:create' })), false);
    assert.match(logged.join(''), /policy engine failed/);
  });
  it('caches decisions by all their inputs', () => {
    // A policy that cannot be evaluated logs each evaluation.
    const { engine, logged } = engineWith({
      'a.cedar': 'permit (principal, action, resource) when { 9223372036854775807 + 1 > 0 };',
    });
    for (let ask = 0; ask < 5; ask += 1) engine.allows(question());
    assert.equal(logged.length, 1);
    for (const changes of [
      { role: 'admin' },
      { scopes: ['audit:read'] },
      { agentId: home },
      { action: 'organizations:rename' },
    ] as const) {
      engine.allows(question(changes));
    }
    assert.equal(logged.length, 5);
  });
  it('two engines in one process are independent', () => {
    const yes = engineWith({ 'a.cedar': 'permit (principal, action, resource);' }).engine;
    const no = engineWith({ 'a.cedar': 'forbid (principal, action, resource);' }).engine;
    assert.deepEqual([yes.allows(question()), no.allows(question())], [true, false]);
  });
  it('refuses to start when a shipped file was edited and is invalid', () => {
    const edited = { ...readPolicies(shipped), 'operator.cedar': 'permit (' };
    assert.throws(() => engineWith(edited), /operator\.cedar is not a valid policy file/);
  });
  for (const [what, files, complaint] of [
    ['no policy at all', {}, /no \.cedar file/],
    ['one that does not parse', { 'bad.cedar': 'permit (' }, /bad\.cedar is not a valid policy file/],
    [
      'one that speaks of what is not in the schema',
      { 'odd.cedar': 'permit (principal, action, resource) when { principal.shoeSize > 3 };' },
      /odd\.cedar is not a valid policy file/,
    ],
    [
      'one with an unknown action',
      { 'odd.cedar': 'permit (principal, action == Action::"fly", resource);' },
      /odd\.cedar/,
    ],
  ] as const) {
    it(`refuses to start with ${what}`, () => {
      assert.throws(() => engineWith(files), complaint);
    });
  }
});
