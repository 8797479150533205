/** Taking a grant away needs the right to make it: otherwise remove it, take a secret, and wait until the grant comes back. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import {
  allTenantScopes,
  createResourceClient,
  outcome,
} from '../../../test/support/scenarios/resources/resources.ts';

const t = await startApp();
const { call, agentIn, tenant, resource, share, unshare, grant, revoke, grantsOf } = createResourceClient(t);
const { createDelegation, redeem } = createDelegationClient(t);
const owner = await tenant();
const home = owner.organizationId;
const lender = await agentIn(home, allTenantScopes, 'admin');

/** A token with `resources:write` and `agents:write` by delegation; the agent itself may hold `own`. */
const borrowing = async (own: readonly string[] = []) => {
  const agent = await agentIn(home, own);
  const lent = ['agents:write', 'resources:write'];
  return { agent, token: await redeem(agent, await createDelegation(lender.token, agent, lent)) };
};

const refusals = async (agentId: string) =>
  (
    await t.sql<{ action: string }>(
      "select metadata->>'action' as action from audit_events where action = 'policy.refused' and agent_id = $1",
      [agentId],
    )
  ).map(({ action }) => action);

describe('removing and narrowing a grant', () => {
  it('403 FORBIDDEN with agents:write alone; the grant stays, and so does the refusal of a secret', async () => {
    const caller = await agentIn(home, ['agents:write', 'agents:read']);
    const { agentId } = await agentIn(home, []);
    const { resourceId, identifier } = await resource(owner);
    await grant(owner, agentId, resourceId, ['refund', 'orders:read']);
    for (const answer of [
      await revoke(caller, agentId, resourceId),
      await grant(caller, agentId, resourceId, ['orders:read']),
    ]) {
      assert.equal(outcome(answer), '403 FORBIDDEN');
      assert.equal(answer.json.details.identifier, identifier);
    }
    assert.deepEqual(await refusals(caller.agentId), ['resources:grant', 'resources:grant']);
    assert.deepEqual(await grantsOf(owner, agentId), { [identifier]: ['orders:read', 'refund'] });
    assert.equal(
      outcome(await call('POST', `/agents/${agentId}/credentials`, caller.token)),
      '403 FORBIDDEN',
    );
  });

  it('with a grant of its own the caller can take away only the scopes of that grant', async () => {
    const caller = await agentIn(home, ['agents:write']);
    const { agentId } = await agentIn(home, []);
    const { resourceId, identifier } = await resource(owner);
    await grant(owner, caller.agentId, resourceId, ['orders:read', 'orders:write']);
    await grant(owner, agentId, resourceId, ['orders:read', 'refund']);
    const narrowed = await grant(caller, agentId, resourceId, ['orders:read']);
    assert.equal(outcome(narrowed), '403 FORBIDDEN');
    assert.deepEqual(narrowed.json.details, { identifier, exceeded: ['refund'] });
    assert.equal(outcome(await revoke(caller, agentId, resourceId)), '403 FORBIDDEN');
    await grant(owner, agentId, resourceId, ['orders:read', 'orders:write']);
    assert.equal(outcome(await grant(caller, agentId, resourceId, ['orders:read'])), '200');
    assert.equal(outcome(await revoke(caller, agentId, resourceId)), '204');
    // Its own grant too.
    assert.equal(outcome(await revoke(caller, caller.agentId, resourceId)), '204');
  });

  it('204 for the owner of the resource, an admin and an operator; 404 GRANT_NOT_FOUND without a grant for all', async () => {
    const { agentId } = await agentIn(home, []);
    const { resourceId } = await resource(owner);
    const admin = await agentIn(home, ['agents:write'], 'admin');
    for (const by of [owner, admin, { token: await t.token() }]) {
      await grant(owner, agentId, resourceId, ['refund', 'orders:read']);
      assert.equal(outcome(await grant(by, agentId, resourceId, ['refund'])), '200');
      assert.equal(outcome(await revoke(by, agentId, resourceId)), '204');
    }
    const plain = await agentIn(home, ['agents:write']);
    for (const by of [owner, admin, plain])
      assert.equal(outcome(await revoke(by, agentId, resourceId)), '404 GRANT_NOT_FOUND');
  });

  it('403 FORBIDDEN for a grant of a shared resource by an agent without the role admin', async () => {
    const other = await tenant();
    const admin = await agentIn(other.organizationId, ['agents:write'], 'admin');
    const { agentId } = await agentIn(other.organizationId, []);
    const { resourceId } = await resource(owner);
    await share(owner, resourceId, other.organizationId, ['refund', 'orders:read']);
    await grant(admin, agentId, resourceId, ['refund', 'orders:read']);
    assert.equal(outcome(await revoke(other, agentId, resourceId)), '403 FORBIDDEN');
    assert.equal(outcome(await grant(other, agentId, resourceId, ['refund'])), '403 FORBIDDEN');
    assert.equal(outcome(await revoke(admin, agentId, resourceId)), '204');
  });
});

describe('a delegated token with borrowed scopes', () => {
  it('403 FORBIDDEN for ending grants by the resource or by a share; nothing changes', async () => {
    const other = await tenant();
    const admin = await agentIn(other.organizationId, ['agents:write'], 'admin');
    const { resourceId } = await resource(owner);
    await share(owner, resourceId, other.organizationId, ['refund', 'orders:read']);
    await grant(owner, lender.agentId, resourceId, ['refund']);
    await grant(admin, other.agentId, resourceId, ['refund', 'orders:read']);
    const path = `/resources/${resourceId}`;
    const scopes = [{ name: 'orders:read' }, { name: 'orders:write' }];
    const caller = await borrowing();
    const attempts = [
      await call('DELETE', path, caller.token),
      await call('PATCH', path, caller.token, { scopes }),
      await unshare(caller, resourceId, other.organizationId),
      await share(caller, resourceId, other.organizationId, ['orders:read']),
      await revoke(caller, lender.agentId, resourceId),
    ];
    assert.deepEqual(
      attempts.map(outcome),
      attempts.map(() => '403 FORBIDDEN'),
    );
    assert.match(attempts[0]?.json.message, /resources:write held by your own agent/);
    assert.equal((await call('GET', `${path}/grants`, await t.token())).json.total, 2);
    const holder = await borrowing(['agents:write', 'resources:write']);
    assert.equal(outcome(await call('PATCH', path, holder.token, { scopes })), '200');
    assert.equal(outcome(await call('DELETE', path, holder.token)), '204');
  });

  it('200 and 204 for a resource without grants', async () => {
    const { resourceId } = await resource(owner);
    const { token } = await borrowing();
    const path = `/resources/${resourceId}`;
    assert.equal(outcome(await call('PATCH', path, token, { scopes: [{ name: 'refund' }] })), '200');
    assert.equal(outcome(await call('DELETE', path, token)), '204');
  });

  it('403 FORBIDDEN for removing a claim: agents could change the field until it is back', async () => {
    const { resourceId } = await resource(owner, { claims: ['owner', 'version'] });
    const path = `/resources/${resourceId}`;
    const { token } = await borrowing();
    const refused = await call('PATCH', path, token, { claims: ['version'] });
    assert.equal(outcome(refused), '403 FORBIDDEN');
    assert.deepEqual(refused.json.details.claims, ['owner']);
    assert.equal(
      outcome(await call('PATCH', path, token, { claims: ['owner', 'version', 'agentType'] })),
      '200',
    );
    assert.equal(outcome(await call('PATCH', path, owner.token, { claims: [] })), '200');
  });
});

describe('what an agent takes from another and an admin restores', () => {
  /** Each target has one thing that the attacker lacks. */
  const kinds = ['grant', 'scope', 'role'] as const;
  const acts = [
    'removeGrant',
    'narrowGrant',
    'narrowResource',
    'deleteResource',
    'narrowScopes',
    'demote',
    'removeMember',
    'suspend',
    'reactivate',
    'restore',
    'removeKeys',
  ] as const;
  /** The shortest attempts for each kind; random ones follow. */
  const takings = {
    grant: ['removeGrant', 'narrowGrant', 'narrowResource', 'deleteResource'],
    scope: ['narrowScopes'],
    role: ['demote', 'removeMember'],
  } as const;
  const examples = kinds.flatMap((kind) =>
    takings[kind].flatMap((act) =>
      [false, true].map((delegated): [typeof kind, { act: typeof act; delegated: boolean }[]] => [
        kind,
        [{ act, delegated }],
      ]),
    ),
  );

  it('never lets it give the agent a secret, in any order', async () => {
    const attacker = await agentIn(home, ['agents:write', 'agents:read']);
    const borrower = await borrowing(['agents:write']);
    const operator = await t.token();
    const members = `/organizations/${home}/members`;

    const restore = async (agentId: string, resourceId: string, kind: (typeof kinds)[number]) => {
      await call('PATCH', `/agents/${agentId}`, operator, {
        status: 'active',
        allowedScopes: kind === 'scope' ? ['audit:read'] : [],
      });
      if (kind === 'grant') await grant(owner, agentId, resourceId, ['refund', 'orders:read']);
      if (kind === 'role') {
        await call('POST', members, operator, { agentId, role: 'admin' });
        await call('PATCH', `${members}/${agentId}`, operator, { role: 'admin' });
      }
    };

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...kinds),
        fc.array(fc.record({ act: fc.constantFrom(...acts), delegated: fc.boolean() }), {
          minLength: 1,
          maxLength: 8,
        }),
        async (kind, steps) => {
          const { resourceId } = await resource(owner);
          await grant(owner, attacker.agentId, resourceId, ['orders:read']);
          const { agentId } = await agentIn(home, []);
          await restore(agentId, resourceId, kind);
          const agent = `/agents/${agentId}`;
          for (const { act, delegated } of steps) {
            const { token } = delegated ? borrower : attacker;
            const requests = {
              removeGrant: () => revoke({ token }, agentId, resourceId),
              narrowGrant: () => grant({ token }, agentId, resourceId, ['orders:read']),
              narrowResource: () =>
                call('PATCH', `/resources/${resourceId}`, token, { scopes: [{ name: 'orders:read' }] }),
              deleteResource: () => call('DELETE', `/resources/${resourceId}`, token),
              narrowScopes: () => call('PATCH', agent, token, { allowedScopes: [] }),
              demote: () => call('PATCH', `${members}/${agentId}`, token, { role: 'member' }),
              removeMember: () => call('DELETE', `${members}/${agentId}`, token),
              suspend: () => call('PATCH', agent, token, { status: 'suspended' }),
              reactivate: () => call('PATCH', agent, token, { status: 'active' }),
              restore: () => restore(agentId, resourceId, kind),
              removeKeys: () => call('PUT', `${agent}/keys`, token, { keys: [] }),
            };
            await requests[act]();
            for (const by of [attacker, borrower]) {
              const minted = await call('POST', `${agent}/credentials`, by.token);
              assert.equal(outcome(minted), '403 FORBIDDEN', `${act}: ${minted.text}`);
            }
          }
          await call('DELETE', `/resources/${resourceId}`, operator);
        },
      ),
      { examples, numRuns: examples.length + 15 },
    );
  });
});
