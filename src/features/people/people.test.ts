import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';

const t = await startApp();
const operator = await t.token();
const { createDelegation, redeem } = createDelegationClient(t);
const url = '/api/v1/organizations';
const issuer = 'https://login.example.com';

const makeOrganization = async (): Promise<string> =>
  (
    await t.call('POST', url, {
      token: operator,
      payload: { name: 'Talent team', slug: `team-${randomUUID().slice(0, 18)}`, planTier: 'pro' },
    })
  ).json.organizationId;

/** A new agent of the organization, its client and its token. */
async function agentOf(organization_id: string, allowedScopes: readonly string[], role?: 'member' | 'admin') {
  const { agentId } = (
    await t.call('POST', '/api/v1/agents', {
      token: operator,
      payload: newAgent({ organization_id, allowedScopes }),
    })
  ).json;
  if (role)
    await t.call('POST', `${url}/${organization_id}/members`, {
      token: operator,
      payload: { agentId, role },
    });
  const credential = (await t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token: operator }))
    .json;
  return { agentId, ...credential, token: await t.token(undefined, credential) };
}

const person = (agentId: string, changes: Record<string, unknown> = {}) => ({
  issuer,
  subject: randomUUID(),
  name: 'Ada Lovelace',
  role: 'viewer',
  agentId,
  ...changes,
});

const invite = (id: string, payload: object, as = operator) =>
  t.call('POST', `${url}/${id}/people`, { token: as, payload });
const list = (id: string, query = '', as = operator) =>
  t.call('GET', `${url}/${id}/people${query}`, { token: as });
const change = (id: string, personId: string, payload: object, as = operator) =>
  t.call('PATCH', `${url}/${id}/people/${personId}`, { token: as, payload });
const remove = (id: string, personId: string, as = operator) =>
  t.call('DELETE', `${url}/${id}/people/${personId}`, { token: as });
const events = async (id: string) =>
  (
    await t.sql<{ action: string; agent_id: string; metadata: Record<string, unknown> }>(
      "select action, agent_id, metadata from audit_events where organization_id = $1 and action like 'person.%' order by occurred_at, event_id",
      [id],
    )
  ).map(({ action, agent_id, metadata: { requestId: _, ...rest } }) => [action, agent_id, rest]);

describe('POST /organizations/{orgId}/people', () => {
  it('201 for an admin of the organization, in upper case too, with an event; once per issuer and subject', async () => {
    const id = await makeOrganization();
    const admin = await agentOf(id, ['agents:read'], 'admin');
    const wanted = person(admin.agentId);
    const { status, json } = await invite(
      id.toUpperCase(),
      { ...wanted, agentId: admin.agentId.toUpperCase() },
      admin.token,
    );
    assert.equal(status, 201);
    const { personId, createdAt, updatedAt, ...rest } = json;
    const added = { email: null, connectionId: null, status: 'active' };
    assert.deepEqual(rest, { ...wanted, ...added, organizationId: id, lastSignInAt: null });
    assert.equal(createdAt, updatedAt);
    const { agentId, ...facts } = wanted;
    assert.deepEqual(await events(id), [['person.invited', agentId, { personId, ...facts }]]);
    const again = await invite(id, { ...wanted, name: 'Other' });
    assert.deepEqual([again.status, again.json.code], [409, 'PERSON_ALREADY_EXISTS']);
    assert.equal((await list(id)).json.total, 1);
  });
  it('201 for the same person in another organization, and for the same subject of another issuer', async () => {
    const [a, b] = [await makeOrganization(), await makeOrganization()];
    const [agentA, agentB] = [await agentOf(a, []), await agentOf(b, [])];
    const wanted = person(agentA.agentId);
    assert.equal((await invite(a, wanted)).status, 201);
    assert.equal((await invite(b, { ...wanted, agentId: agentB.agentId })).status, 201);
    assert.equal((await invite(a, { ...wanted, issuer: 'https://other.example.com' })).status, 201);
  });
  it('400 VALIDATION_ERROR names the field', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    const wrong: [string, Record<string, unknown>][] = [
      ['issuer', { issuer: 'http://login.example.com' }],
      ['issuer', { issuer: 'https://login.example.com?a=b' }],
      ['issuer', { issuer: 'login.example.com' }],
      ['issuer', { issuer: 'https://user:secret@login.example.com' }],
      ['subject', { subject: '' }],
      ['subject', { subject: 'a'.repeat(256) }],
      ['subject', { subject: 'Zoë' }],
      ['subject', { subject: 'a\nb' }],
      ['name', { name: '  ' }],
      ['name', { name: 'a'.repeat(101) }],
      ['name', { name: 'Ada\u202e' }],
      ['role', { role: 'owner' }],
      ['agentId', { agentId: 'me' }],
      ['email', { email: 'ada@example.com' }],
    ];
    for (const [field, changes] of wrong) {
      const { status, json } = await invite(id, person(agentId, changes));
      assert.deepEqual([status, json.details?.fields?.[0]?.field], [400, field], JSON.stringify(changes));
    }
    for (const field of ['issuer', 'subject', 'name', 'role', 'agentId'])
      assert.equal((await invite(id, person(agentId, { [field]: undefined }))).status, 400, field);
    assert.equal((await list(id)).json.total, 0);
  });
  it('201 for an issuer on loopback without TLS', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    assert.equal((await invite(id, person(agentId, { issuer: 'http://localhost:8080' }))).status, 201);
    assert.equal((await invite(id, person(agentId, { issuer: 'http://127.0.0.1:8080/x' }))).status, 201);
  });
  it('403 FORBIDDEN for an agent with scopes that the admin lacks, also as a viewer', async () => {
    const id = await makeOrganization();
    const admin = await agentOf(id, ['agents:read', 'agents:write'], 'admin');
    const auditor = await agentOf(id, ['audit:read']);
    for (const role of ['viewer', 'admin']) {
      const { status, json } = await invite(id, person(auditor.agentId, { role }), admin.token);
      assert.deepEqual([status, json.code], [403, 'FORBIDDEN']);
      assert.deepEqual(json.details.exceeded, ['audit:read']);
    }
    assert.equal((await list(id)).json.total, 0);
  });
  it("403 FORBIDDEN for an operator's agent, unless the caller is an operator", async () => {
    const home = t.operator.organizationId;
    const admin = await agentOf(home, ['agents:read'], 'admin');
    const asAdmin = await invite(home, person(t.operator.agentId), admin.token);
    assert.deepEqual([asAdmin.status, asAdmin.json.code], [403, 'FORBIDDEN']);
    const invited = await invite(home, person(t.operator.agentId));
    assert.equal(invited.status, 201);
    // Nor can the admin end or rename a person who acts as an operator.
    const { personId } = invited.json;
    assert.equal((await change(home, personId, { name: 'Eve' }, admin.token)).status, 403);
    assert.equal((await remove(home, personId, admin.token)).status, 403);
    assert.equal((await remove(home, personId)).status, 204);
  });
  it('403 AGENT_NOT_ACTIVE for a suspended agent', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    await t.call('PATCH', `/api/v1/agents/${agentId}`, { token: operator, payload: { status: 'suspended' } });
    assert.equal((await invite(id, person(agentId))).json.code, 'AGENT_NOT_ACTIVE');
  });
  it('403 FORBIDDEN for a delegated caller that is an admin itself', async () => {
    const id = await makeOrganization();
    const scopes = ['agents:read', 'agents:write'];
    const admin = await agentOf(id, scopes, 'admin');
    const other = await agentOf(id, scopes, 'admin');
    const delegated = await redeem(other, await createDelegation(admin.token, other, scopes));
    const { status, json } = await invite(id, person(other.agentId), delegated);
    assert.deepEqual([status, json.code], [403, 'FORBIDDEN']);
    assert.match(json.message, /cannot be delegated/);
    assert.equal((await list(id, '', delegated)).status, 403);
  });
  it('403 FREE_TIER_LIMIT_EXCEEDED above a thousand people; of ten concurrent requests for the last place one succeeds', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    await t.sql(
      `insert into people (person_id, organization_id, issuer, subject, name, role, agent_id, created_at, updated_at)
       select gen_random_uuid(), $1, 'https://login.example.com', n::text, 'Person', 'viewer', $2, now(), now()
       from generate_series(1, 999) n`,
      [id, agentId],
    );
    const answers = await Promise.all(Array.from({ length: 10 }, () => invite(id, person(agentId))));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(9).fill(403)]);
    const refused = answers.find(({ status }) => status === 403);
    assert.deepEqual(refused?.json.details, { limitType: 'max_people', limit: 1_000 });
  });
  it('404 AGENT_NOT_FOUND for an unknown agent and one of another organization, for the operator too', async () => {
    const [id, elsewhere] = [await makeOrganization(), await makeOrganization()];
    const admin = await agentOf(id, [], 'admin');
    const foreign = await agentOf(elsewhere, []);
    for (const agentId of [randomUUID(), foreign.agentId])
      for (const as of [operator, admin.token]) {
        const { status, json } = await invite(id, person(agentId), as);
        assert.deepEqual([status, json.code], [404, 'AGENT_NOT_FOUND']);
      }
  });
  it('404 ORG_NOT_FOUND for an unknown, a foreign and a deleted organization', async () => {
    const [id, elsewhere] = [await makeOrganization(), await makeOrganization()];
    const admin = await agentOf(id, [], 'admin');
    const payload = person(admin.agentId);
    assert.equal((await invite(randomUUID(), payload)).json.code, 'ORG_NOT_FOUND');
    assert.equal((await invite(elsewhere, payload, admin.token)).json.code, 'ORG_NOT_FOUND');
    await t.call('DELETE', `${url}/${elsewhere}`, { token: operator });
    assert.equal((await invite(elsewhere, payload)).json.code, 'ORG_NOT_FOUND');
  });
});

describe('GET /organizations/{orgId}/people', () => {
  it('200 newest first, by page and role, with the total of the organization alone', async () => {
    const [id, elsewhere] = [await makeOrganization(), await makeOrganization()];
    const admin = await agentOf(id, [], 'admin');
    await invite(elsewhere, person((await agentOf(elsewhere, [])).agentId));
    const first = (await invite(id, person(admin.agentId))).json;
    t.clock.advance(1_000);
    const second = (await invite(id, person(admin.agentId, { role: 'admin' }))).json;
    for (const as of [operator, admin.token])
      assert.deepEqual((await list(id, '', as)).json, {
        data: [second, first],
        total: 2,
        page: 1,
        limit: 20,
      });
    assert.deepEqual((await list(id, '?limit=1&page=2')).json.data, [first]);
    const admins = (await list(id, '?role=admin')).json;
    assert.deepEqual([admins.data, admins.total], [[second], 1]);
    assert.equal((await list(id, '?role=member')).json.total, 0);
    for (const query of ['?role=owner', '?limit=101', '?page=0'])
      assert.equal((await list(id, query)).json.code, 'VALIDATION_ERROR', query);
  });
  it('200 by a part of the name or the e-mail address, in any case, also with the role', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    const { connectionId } = (
      await t.call('POST', `${url}/${id}/connections`, {
        token: operator,
        payload: { name: 'Login', issuer, clientId: randomUUID(), clientSecret: 'a secret' },
      })
    ).json;
    const byEmail = { role: 'viewer', agentId, connectionId };
    await invite(id, person(agentId));
    await invite(id, person(agentId, { name: 'Grace Hopper', role: 'admin' }));
    await invite(id, { ...byEmail, name: '100% Grace', email: 'g_race@example.com' });
    const found = async (q: string, more = '') =>
      (await list(id, `?q=${encodeURIComponent(q)}${more}`)).json.data
        .map(({ name }: { name: string }) => name)
        .sort();
    // JavaScript writes these in lower case unlike PostgreSQL: a final sigma, a dot above.
    for (const name of ['ΟΔΥΣΣΕΥΣ', 'İpek']) {
      await invite(id, person(agentId, { name }));
      assert.deepEqual(await found(name), [name]);
    }
    assert.deepEqual(await found('LOVELACE'), ['Ada Lovelace']);
    assert.deepEqual(await found('grace'), ['100% Grace', 'Grace Hopper']);
    assert.deepEqual(await found('grace', '&role=admin'), ['Grace Hopper']);
    assert.deepEqual(await found('RACE@example'), ['100% Grace']);
    assert.deepEqual(await found('%'), ['100% Grace']);
    assert.deepEqual(await found('g_r'), ['100% Grace']);
    assert.deepEqual(await found('\\'), []);
    assert.deepEqual(await found('no one'), []);
  });
  it('403 FORBIDDEN for a member without the role admin', async () => {
    const id = await makeOrganization();
    const member = await agentOf(id, ['agents:read', 'agents:write'], 'member');
    assert.equal((await list(id, '', member.token)).json.code, 'FORBIDDEN');
    assert.equal((await invite(id, person(member.agentId), member.token)).json.code, 'FORBIDDEN');
  });
});

describe('PATCH /organizations/{orgId}/people/{personId}', () => {
  it('200 with the changes and an event; none for equal values', async () => {
    const id = await makeOrganization();
    const admin = await agentOf(id, ['agents:read'], 'admin');
    const other = await agentOf(id, ['agents:read']);
    const before = (await invite(id, person(admin.agentId))).json;
    t.clock.advance(1_000);
    const { personId } = before;
    assert.deepEqual((await change(id, personId, {})).json, before);
    assert.deepEqual((await change(id, personId, { role: 'viewer', name: before.name })).json, before);
    const after = (
      await change(id, personId, { name: 'Grace', role: 'admin', agentId: other.agentId }, admin.token)
    ).json;
    assert.deepEqual(after, {
      ...before,
      name: 'Grace',
      role: 'admin',
      agentId: other.agentId,
      updatedAt: after.updatedAt,
    });
    assert.ok(after.updatedAt > before.updatedAt);
    const [, updated, ...more] = await events(id);
    assert.deepEqual(more, []);
    assert.deepEqual(updated, [
      'person.updated',
      other.agentId,
      {
        personId,
        name: 'Grace',
        role: 'admin',
        issuer,
        subject: before.subject,
        changed: ['name', 'role', 'agentId'],
        previousRole: 'viewer',
        previousAgentId: admin.agentId,
        actorId: admin.agentId,
      },
    ]);
  });
  it('400 IMMUTABLE_FIELD for issuer and subject, VALIDATION_ERROR for other fields', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    const { personId } = (await invite(id, person(agentId))).json;
    for (const field of ['issuer', 'subject', 'personId', 'organizationId'])
      assert.equal((await change(id, personId, { [field]: 'x' })).json.code, 'IMMUTABLE_FIELD', field);
    for (const payload of [{ role: 'owner' }, { name: '' }, { agentId: null }, { email: 'a@b.example' }])
      assert.equal((await change(id, personId, payload)).json.code, 'VALIDATION_ERROR');
  });
  it('403 FORBIDDEN for a role or agent beyond the scopes of the admin, who may rename and remove', async () => {
    const id = await makeOrganization();
    const admin = await agentOf(id, ['agents:read'], 'admin');
    const auditor = await agentOf(id, ['audit:read']);
    const { personId } = (await invite(id, person(auditor.agentId))).json;
    const own = (await invite(id, person(admin.agentId))).json;
    assert.equal((await change(id, personId, { role: 'admin' }, admin.token)).json.code, 'FORBIDDEN');
    assert.equal(
      (await change(id, own.personId, { agentId: auditor.agentId }, admin.token)).json.code,
      'FORBIDDEN',
    );
    assert.equal((await list(id, '?role=admin')).json.total, 0);
    assert.equal((await change(id, personId, { name: 'Grace' }, admin.token)).json.name, 'Grace');
    assert.equal((await remove(id, personId, admin.token)).status, 204);
  });
  it('404 PERSON_NOT_FOUND for an unknown person, and for one of another organization', async () => {
    const [id, elsewhere] = [await makeOrganization(), await makeOrganization()];
    const admin = await agentOf(id, [], 'admin');
    const foreign = (await invite(elsewhere, person((await agentOf(elsewhere, [])).agentId))).json;
    for (const personId of [randomUUID(), foreign.personId])
      for (const as of [operator, admin.token]) {
        assert.equal((await change(id, personId, { role: 'admin' }, as)).json.code, 'PERSON_NOT_FOUND');
        assert.equal((await remove(id, personId, as)).json.code, 'PERSON_NOT_FOUND');
      }
    assert.equal((await change(elsewhere, foreign.personId, {}, admin.token)).json.code, 'ORG_NOT_FOUND');
    assert.equal((await list(elsewhere)).json.data[0].role, 'viewer');
  });
});

describe('DELETE /organizations/{orgId}/people/{personId}', () => {
  it('204 for exactly one of ten concurrent requests, with one event; the person can be invited again', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    const wanted = person(agentId);
    const { personId } = (await invite(id, wanted)).json;
    const answers = await Promise.all(Array.from({ length: 10 }, () => remove(id, personId)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, ...Array(9).fill(404)]);
    assert.equal((await invite(id, wanted)).status, 201);
    assert.deepEqual(
      (await events(id)).map(([action]) => action),
      ['person.invited', 'person.removed', 'person.invited'],
    );
  });
});

describe('the status of a person', () => {
  it('200 with an event of its own, beside that of other changes; a suspended person stays one', async () => {
    const id = await makeOrganization();
    const admin = await agentOf(id, ['agents:read'], 'admin');
    const { personId } = (await invite(id, person(admin.agentId))).json;
    const suspended = await change(id, personId, { status: 'suspended', name: 'Grace' }, admin.token);
    assert.deepEqual(
      [suspended.status, suspended.json.status, suspended.json.name],
      [200, 'suspended', 'Grace'],
    );
    assert.equal(
      (await change(id, personId, { status: 'suspended' })).json.updatedAt,
      suspended.json.updatedAt,
    );
    assert.equal((await list(id)).json.data[0].status, 'suspended');
    assert.equal((await change(id, personId, { status: 'active' }, admin.token)).json.status, 'active');
    // The two of one change have the same time.
    assert.deepEqual(
      (await events(id))
        .map(([action, , facts]) => {
          const { status, changed } = facts as Record<string, unknown>;
          return `${action} ${status ?? changed ?? ''}`.trim();
        })
        .sort(),
      ['person.activated active', 'person.invited', 'person.suspended suspended', 'person.updated name'],
    );
    assert.equal((await change(id, personId, { status: 'gone' })).json.code, 'VALIDATION_ERROR');
  });
});

describe('the role member', () => {
  it('201 and 200 without an agent; with one only admins and viewers', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    const { agentId: _, ...wanted } = person('', { role: 'member' });
    const created = await invite(id, wanted);
    assert.deepEqual([created.status, created.json.role, created.json.agentId], [201, 'member', null]);
    const { personId } = created.json;
    const refused: Record<string, unknown>[] = [
      { agentId },
      { role: 'admin' },
      { role: 'admin', agentId: null },
      { role: 'member', agentId },
    ];
    for (const payload of refused) {
      const { status, json } = await change(id, personId, payload);
      assert.deepEqual([status, json.details?.fields?.[0]?.field], [400, 'agentId'], JSON.stringify(payload));
    }
    assert.equal((await invite(id, person(agentId, { role: 'member' }))).status, 400);
    assert.equal((await invite(id, person(agentId, { agentId: null }))).status, 400);
    const promoted = (await change(id, personId, { role: 'admin', agentId })).json;
    assert.deepEqual([promoted.role, promoted.agentId], ['admin', agentId]);
    const demoted = (await change(id, personId, { role: 'member' })).json;
    assert.deepEqual([demoted.role, demoted.agentId], ['member', null]);
    assert.equal((await remove(id, personId)).status, 204);
  });
  it('403 FORBIDDEN for an admin who gives a member an agent with more scopes', async () => {
    const id = await makeOrganization();
    const admin = await agentOf(id, ['agents:read'], 'admin');
    const auditor = await agentOf(id, ['audit:read']);
    const { agentId: _, ...wanted } = person('', { role: 'member' });
    const { personId } = (await invite(id, wanted, admin.token)).json;
    for (const role of ['viewer', 'admin'])
      assert.equal(
        (await change(id, personId, { role, agentId: auditor.agentId }, admin.token)).json.code,
        'FORBIDDEN',
      );
  });
});

describe('an invitation by e-mail', () => {
  const connect = async (id: string): Promise<string> =>
    (
      await t.call('POST', `${url}/${id}/connections`, {
        token: operator,
        payload: { name: 'Login', issuer, clientId: randomUUID(), clientSecret: 'a secret' },
      })
    ).json.connectionId;

  it('201 waits without issuer and subject; 409 PERSON_ALREADY_EXISTS for the same address', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    const connectionId = await connect(id);
    const wanted = { email: 'Ada@Example.com', connectionId, name: 'Ada', role: 'viewer', agentId };
    const { status, json } = await invite(id, wanted);
    assert.equal(status, 201);
    assert.deepEqual(
      [json.issuer, json.subject, json.email, json.connectionId],
      [null, null, 'Ada@Example.com', connectionId],
    );
    const again = await invite(id, { ...wanted, email: 'ada@example.com' });
    assert.deepEqual([again.status, again.json.code], [409, 'PERSON_ALREADY_EXISTS']);
    assert.equal((await invite(id, { ...wanted, connectionId: await connect(id) })).status, 201);
    const [[, , metadata] = assert.fail()] = await events(id);
    assert.ok(!/example\.com/i.test(JSON.stringify(metadata)));
  });
  it('400 unless it has either issuer and subject or email and connectionId; 404 for a foreign connection', async () => {
    const id = await makeOrganization();
    const { agentId } = await agentOf(id, []);
    const email = 'ada@example.com';
    const connectionId = await connect(id);
    const wanted = { name: 'Ada', role: 'viewer', agentId };
    const wrong: [string, Record<string, unknown>][] = [
      ['email', {}],
      ['connectionId', { email }],
      ['email', { connectionId }],
      ['subject', { issuer }],
      ['email', { issuer, subject: 'x', email }],
      ['connectionId', { issuer, subject: 'x', connectionId }],
      ['email', { connectionId, email: 'ada' }],
      ['email', { connectionId, email: 'ad\u0131@example.com' }],
      ['email', { connectionId, email: `${'a'.repeat(250)}@example.com` }],
    ];
    for (const [field, changes] of wrong) {
      const { status, json } = await invite(id, { ...wanted, ...changes });
      assert.deepEqual([status, json.details?.fields?.[0]?.field], [400, field], JSON.stringify(changes));
    }
    for (const foreign of [randomUUID(), await connect(await makeOrganization())]) {
      const { status, json } = await invite(id, { ...wanted, email, connectionId: foreign });
      assert.deepEqual([status, json.code], [404, 'CONNECTION_NOT_FOUND']);
    }
    assert.equal((await list(id)).json.total, 0);
  });
});
