/** A workload that provisions other agents does not reach its own agent through them. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import { newAgent } from '../../../../test/support/harness.ts';
import { startSignInProvider } from '../../../../test/support/peers/sign-in-provider.ts';
import {
  consoleOrigin,
  cookieIn,
  createConsoleClient,
  startConsoleApp,
} from '../../../../test/support/scenarios/console.ts';
import { createDelegationClient } from '../../../../test/support/scenarios/delegations.ts';
import { createLastingChanges, policies } from '../../../../test/support/scenarios/lasting-changes.ts';
import { callback, createPeopleScenario } from '../../../../test/support/scenarios/people.ts';
import {
  allTenantScopes,
  createResourceClient,
  outcome,
  type TestAgent,
} from '../../../../test/support/scenarios/resources/resources.ts';
import { createTrustClient } from '../../../../test/support/scenarios/trust.ts';
import { createExpiryLoop } from '../../provisioned-proofs/loops.ts';

const provider = await startSignInProvider([consoleOrigin + callback]);
const t = await startConsoleApp({
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  RATE_LIMIT_PER_MINUTE: '100000',
  ...provider.variables,
});
const { createPolicy, exchange, issuer } = await createTrustClient(t);
const { call, agentIn, tenant, resource } = createResourceClient(t);
const { createDelegation, redeem } = createDelegationClient(t);
const { signedIn } = await createPeopleScenario(t, provider, consoleOrigin);
const web = createConsoleClient(t);
const owner = await tenant();
const home = owner.organizationId;
const orders = await resource(owner);
const lastingChanges = createLastingChanges(t, owner, orders.resourceId);

const tokenBy = async (policy: { sign(): Promise<string>; agentId: string }): Promise<string> => {
  const { status, json, text } = await exchange(await policy.sign(), { client_id: policy.agentId });
  assert.equal(status, 200, text);
  return json.access_token;
};

const everything = { scopes: allTenantScopes, actsAsAdmin: true };

/** A workload of an admin, with all of the agent's scopes and its role. */
const newWorkload = async (scopes: readonly string[] = allTenantScopes) => {
  const agent = await agentIn(home, scopes, 'admin');
  const policy = await createPolicy({ agentId: agent.agentId, ...everything, scopes });
  return { ...agent, policy, token: await tokenBy(policy) };
};
type Workload = Awaited<ReturnType<typeof newWorkload>>;

const succeed = async (method: 'POST' | 'PUT', path: string, token: string, payload?: object) => {
  const { status, json, text } = await call(method, path, token, payload);
  assert.ok(status < 300, text);
  return json;
};

/** An admin that the caller creates, with a credential; with a token by it. */
const provision = async (token: string, allowedScopes: readonly string[] = allTenantScopes) => {
  const { agentId } = await succeed(
    'POST',
    '/agents',
    token,
    newAgent({ organization_id: home, allowedScopes }),
  );
  await succeed('POST', `/organizations/${home}/members`, token, { agentId, role: 'admin' });
  const client = await succeed('POST', `/agents/${agentId}/credentials`, token);
  return { agentId, ...client, token: await t.token(undefined, client) };
};

const giveCredential = ({ agentId }: { agentId: string }, token: string) =>
  call('POST', `/agents/${agentId}/credentials`, token);

/** With the token, neither a credential nor the end of a policy of the workload's agent is possible. */
const assertRefused = async (workload: Workload, token: string, what = 'refused') => {
  assert.equal(outcome(await giveCredential(workload, token)), '403 FORBIDDEN', what);
  const ended = await call('DELETE', `${policies}/${workload.policy.policyId}`, token);
  assert.equal(outcome(ended), '403 FORBIDDEN', what);
};

describe('an agent that a workload created', () => {
  it("403 FORBIDDEN for every change that gives the workload's agent power, which other admins may make", async () => {
    const workload = await newWorkload();
    const puppet = await provision(workload.token);
    const { policyId } = workload.policy;
    const changes = Object.entries(await lastingChanges(workload.agentId));
    for (const [what, change] of changes)
      assert.equal(outcome(await change(puppet.token, policyId)), '403 FORBIDDEN', what);
    const other = await agentIn(home, allTenantScopes, 'admin');
    for (const [what, change] of changes) {
      const { status, text } = await change(other.token, policyId);
      assert.ok(status < 300, `${what}: ${text}`);
    }
  });

  it("403 FORBIDDEN for a field of the workload's agent that its tokens carry as a claim, also by the workload itself", async () => {
    const workload = await newWorkload();
    const puppet = await provision(workload.token);
    const other = await agentIn(home);
    const { resourceId } = await resource(owner, { claims: ['owner'] });
    for (const { agentId } of [workload, other])
      await succeed('PUT', `/agents/${agentId}/grants/${resourceId}`, owner.token, { scopes: ['refund'] });
    const rename = async ({ agentId }: { agentId: string }, token: string) =>
      outcome(await call('PATCH', `/agents/${agentId}`, token, { owner: randomUUID() }));
    for (const token of [workload.token, puppet.token]) {
      assert.equal(await rename(workload, token), '403 FORBIDDEN');
      assert.equal(await rename(other, token), '200');
    }
    assert.equal(await rename(workload, owner.token), '200');
  });

  it('403 FORBIDDEN for a role of the agent', async () => {
    const workload = await newWorkload();
    const puppet = await provision(workload.token);
    const path = `/organizations/${home}/members/${workload.agentId}`;
    assert.equal(outcome(await call('PATCH', path, puppet.token, { role: 'member' })), '403 FORBIDDEN');
  });

  it('403 FORBIDDEN for the agents that it creates in turn, by its secret or by a trust policy', async () => {
    const workload = await newWorkload();
    const puppet = await provision(workload.token);
    await assertRefused(workload, (await provision(puppet.token)).token, 'by its secret');
    const subject = randomUUID();
    const policy = await succeed('POST', policies, workload.token, {
      ...{ agentId: puppet.agentId, name: 'CI', provider: 'custom', issuer: issuer.url },
      ...{ audiences: ['http://countersign.test'], subject, ...everything },
    });
    const token = await tokenBy({ agentId: policy.agentId, sign: () => issuer.sign({ sub: subject }) });
    const last = await provision(token);
    await assertRefused(workload, last.token, 'by a trust policy');
    assert.equal(outcome(await giveCredential(puppet, last.token)), '403 FORBIDDEN');
  });

  it('201 for other agents, and 200 for suspending the agent of the workload', async () => {
    const workload = await newWorkload();
    const puppet = await provision(workload.token);
    assert.equal(outcome(await giveCredential(await agentIn(home), puppet.token)), '201');
    assert.equal(outcome(await giveCredential(puppet, puppet.token)), '201');
    const suspended = await call('PATCH', `/agents/${workload.agentId}`, puppet.token, {
      status: 'suspended',
    });
    assert.equal(outcome(suspended), '200');
  });

  it("403 FORBIDDEN for an operator that an operator's workload created", async () => {
    const scopes = [...allTenantScopes, 'admin:orgs'];
    const workload = await newWorkload(scopes);
    const { token } = await provision(workload.token, scopes);
    await assertRefused(workload, token);
    assert.equal(outcome(await giveCredential(workload, await t.token())), '201');
  });
});

describe('an agent of before that a workload gave power', () => {
  const nearly = allTenantScopes.filter((scope) => scope !== 'audit:read');
  const powers: Record<
    string,
    { scopes?: readonly string[]; give(agentId: string, token: string): Promise<unknown> }
  > = {
    scopes: {
      scopes: nearly,
      give: async (agentId, token) =>
        assert.equal(
          outcome(await call('PATCH', `/agents/${agentId}`, token, { allowedScopes: allTenantScopes })),
          '200',
        ),
    },
    'the role admin': {
      give: (agentId, token) =>
        succeed('POST', `/organizations/${home}/members`, token, { agentId, role: 'admin' }),
    },
    'its activity again': {
      give: async (agentId, token) => {
        const change = (status: string, by: string) => call('PATCH', `/agents/${agentId}`, by, { status });
        assert.equal(outcome(await change('suspended', owner.token)), '200');
        assert.equal(outcome(await change('active', token)), '200');
      },
    },
    'a grant': {
      give: (agentId, token) =>
        succeed('PUT', `/agents/${agentId}/grants/${orders.resourceId}`, token, {
          scopes: ['orders:read'],
        }),
    },
  };
  for (const [what, { scopes = allTenantScopes, give }] of Object.entries(powers))
    it(`403 FORBIDDEN after it got ${what}, for the workload's agent only`, async () => {
      const workload = await newWorkload();
      const agent = await agentIn(home, scopes, what === 'the role admin' ? undefined : 'admin');
      await give(agent.agentId, workload.token);
      const token = await t.token(undefined, agent);
      assert.equal(outcome(await giveCredential(workload, token)), '403 FORBIDDEN');
      assert.equal(outcome(await giveCredential(await agentIn(home, nearly), token)), '201');
    });
});

describe('a workload whose policy ended or lost scopes', () => {
  const create = (token: string) =>
    call('POST', '/agents', token, newAgent({ organization_id: home, allowedScopes: ['agents:read'] }));
  const changes: Record<string, (policyId: string) => ReturnType<typeof call>> = {
    narrowed: async (policyId) =>
      call('PATCH', `${policies}/${policyId}`, await t.token(), { scopes: ['agents:write'] }),
    disabled: (policyId) => call('PATCH', `${policies}/${policyId}`, owner.token, { status: 'disabled' }),
    deleted: (policyId) => call('DELETE', `${policies}/${policyId}`, owner.token),
  };
  for (const [what, change] of Object.entries(changes))
    it(`403 FORBIDDEN for new agents, secrets and policies with a token of before: ${what}`, async () => {
      const workload = await newWorkload();
      const { agentId } = (await create(workload.token)).json;
      const changed = outcome(await change(workload.policy.policyId));
      assert.match(changed, /^20[04]$/);
      assert.equal(outcome(await create(workload.token)), '403 FORBIDDEN');
      assert.equal(outcome(await giveCredential({ agentId }, workload.token)), '403 FORBIDDEN');
      assert.equal(outcome(await call('GET', '/agents', workload.token)), '200', 'the token itself lives on');
    });
});

describe('an agent that a workload gave a proof', () => {
  const pair = generateKeyPairSync('ed25519');

  const putKey = async (token: string, agentId: string) =>
    succeed('PUT', `/agents/${agentId}/keys`, token, {
      keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'mine' }],
    });

  const tokenByKey = async (agentId: string): Promise<string> => {
    const now = Math.floor(t.clock.now() / 1000);
    const client_assertion = await new SignJWT({
      ...{ iss: agentId, sub: agentId, aud: `${consoleOrigin}/api/v1/token` },
      ...{ iat: now, exp: now + 60, jti: randomUUID() },
    })
      .setProtectedHeader({ alg: 'EdDSA', kid: 'mine' })
      .sign(pair.privateKey);
    const { status, json, text } = await t.askToken({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
    });
    assert.equal(status, 200, text);
    return json.access_token;
  };

  type Provision = (token: string, agent: TestAgent) => Promise<string>;
  const proofs: Readonly<Record<string, Provision>> = {
    'a credential': async (token, { agentId }) =>
      t.token(undefined, await succeed('POST', `/agents/${agentId}/credentials`, token)),
    'a rotated credential': async (token, { agentId }) => {
      const path = `/agents/${agentId}/credentials`;
      const made = await succeed('POST', path, await t.token());
      return t.token(undefined, await succeed('POST', `${path}/${made.credentialId}/rotate`, token));
    },
    'a key': async (token, { agentId }) => {
      await putKey(token, agentId);
      return tokenByKey(agentId);
    },
    'a trust policy': async (token, { agentId }) => {
      const subject = randomUUID();
      await succeed('POST', policies, token, {
        ...{ agentId, name: 'CI', provider: 'custom', issuer: issuer.url },
        ...{ audiences: ['http://countersign.test'], subject, ...everything },
      });
      return tokenBy({ agentId, sign: () => issuer.sign({ sub: subject }) });
    },
    'a changed trust policy': async (token, { agentId }) => {
      const policy = await createPolicy({ agentId, ...everything });
      const subject = randomUUID();
      const changed = await call('PATCH', `${policies}/${policy.policyId}`, token, { subject });
      assert.equal(changed.status, 200, changed.text);
      return tokenBy({ agentId, sign: () => issuer.sign({ sub: subject }) });
    },
  };

  for (const [what, giveProof] of Object.entries(proofs))
    it(`403 FORBIDDEN with ${what}; its other proofs may change the workload's agent`, async () => {
      const workload = await newWorkload();
      const agent = await agentIn(home, allTenantScopes, 'admin');
      await assertRefused(workload, await giveProof(workload.token, agent));
      assert.equal(outcome(await giveCredential(workload, agent.token)), '201');
    });

  it('403 FORBIDDEN in sessions of the console that began with such a proof', async () => {
    const workload = await newWorkload();
    const agent = await agentIn(home, allTenantScopes, 'admin');
    const client = await succeed('POST', `/agents/${agent.agentId}/credentials`, workload.token);
    await putKey(workload.token, agent.agentId);
    const link = await succeed('POST', '/console/links', await tokenByKey(agent.agentId));
    const bySecret = await web.cookieOf(client);
    const { code } = (await web.call(bySecret, 'POST', '/console/api/command-line-codes')).json;
    const cookies = {
      secret: bySecret,
      link: cookieIn(await web.signIn({ code: link.code })),
      'command line': cookieIn(await web.signIn({ code })),
    };
    const path = `/agents/${workload.agentId}/credentials`;
    for (const [what, cookie] of Object.entries(cookies))
      assert.equal(outcome(await web.call(cookie, 'POST', path)), '403 FORBIDDEN', what);
    const own = await web.cookieOf(agent);
    assert.equal(outcome(await web.call(own, 'POST', path)), '201');
  });

  it('403 FORBIDDEN for a person whom the workload invited', async () => {
    const workload = await newWorkload();
    const { agentId } = await agentIn(home, allTenantScopes, 'admin');
    const statusFor = async (token: string) => {
      const person = await succeed('POST', `/organizations/${home}/people`, token, {
        ...{ issuer: provider.issuer, subject: `person-${randomUUID()}` },
        ...{ name: 'Ada', role: 'admin', agentId },
      });
      await t.sql('update people set last_sign_in_at = created_at where person_id = $1', [person.personId]);
      const browser = await signedIn(person);
      const path = `/console/api/v1/agents/${workload.agentId}/credentials`;
      return (await browser.change('POST', path)).status;
    };
    assert.equal(await statusFor(workload.token), 403);
    assert.equal(await statusFor(await t.token()), 201);
  });

  it('403 FORBIDDEN for a delegation that it made, also for an agent that the workload did not touch', async () => {
    const workload = await newWorkload();
    const puppet = await provision(workload.token);
    const delegatee = await agentIn(home, ['agents:write']);
    const endWith = async (delegator: { token: string }) => {
      const lent = await createDelegation(delegator.token, delegatee, ['agents:write']);
      const token = await redeem(delegatee, lent);
      return outcome(
        await call('PATCH', `${policies}/${workload.policy.policyId}`, token, { status: 'disabled' }),
      );
    };
    assert.equal(await endWith(puppet), '403 FORBIDDEN');
    assert.equal(await endWith(await agentIn(home)), '200');
  });
});

it('rows of sessions and delegations that have ended are deleted, and others stay', async () => {
  const workload = await newWorkload();
  const puppet = await provision(workload.token);
  await createDelegation(puppet.token, await agentIn(home), ['agents:read'], { expiresIn: 60 });
  const rows = async () =>
    (
      await t.sql<{ ends: boolean }>(
        'select expires_at is not null as ends from provisioned_proofs where provisioner_id = $1',
        [workload.agentId],
      )
    ).map(({ ends }) => ends);
  const before = await rows();
  assert.equal(before.filter((ends) => ends).length, 1);
  t.clock.advance(2 * 3_600_000);
  const loop = createExpiryLoop({ db: t.app.db, clock: t.clock });
  await loop.run(new AbortController().signal);
  assert.deepEqual(
    await rows(),
    before.filter((ends) => !ends),
  );
});
