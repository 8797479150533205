/** Hostile values for every field of a request, a decision and the policy: none is a 5xx, and a refusal changes nothing. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Answer } from '../../../test/support/harness.ts';
import {
  createApprovalScenario,
  ownApprovals,
  paymentType,
} from '../../../test/support/scenarios/approvals.ts';
import { createConsoleClient, fromPage } from '../../../test/support/scenarios/console.ts';
import { newResource } from '../../../test/support/scenarios/resources/resources.ts';

/** With mail, so that requests would write notifications. */
const scenario = await createApprovalScenario({
  SMTP_URL: 'smtp://127.0.0.1:2525',
  MAIL_FROM: 'countersign@example.com',
});
const { t, operate, api, asker, bcAuthorize, request, decide, member, organizationId } = scenario;

const payment = { type: 'payment', amount: 120, currency: 'EUR' };

/** Another tenant with an agent, a person and an API. */
const other = await (async () => {
  const { organizationId: orgId } = await operate('POST', '/organizations', {
    name: 'Other',
    slug: `other-${randomUUID()}`,
  });
  const { connectionId } = await scenario.connect(orgId);
  const browser = scenario.newBrowser();
  await scenario.logIn(browser, scenario.startOf(connectionId), `p-${randomUUID()}`);
  const { personId } = (await browser.request('/console/api/session')).json.person;
  const agent = await t.agent({
    organization_id: orgId,
    allowedScopes: ['audit:read', 'resources:read', 'resources:write'],
  });
  await operate('POST', `/organizations/${orgId}/members`, { agentId: agent.agentId, role: 'admin' });
  const created = await t.call('POST', '/api/v1/resources', {
    token: await t.token(undefined, agent),
    payload: newResource({ peopleScopes: ['orders:write'], authorizationDetailTypes: [paymentType] }),
  });
  assert.equal(created.status, 201, created.text);
  const resource = created.json;
  const client = { credentials: { client_id: agent.clientId, client_secret: agent.clientSecret } };
  return { orgId, browser, personId, resource, client, agent };
})();

type Answered = Pick<Answer, 'status' | 'text'>;

const label = (value: unknown) => String(JSON.stringify(value)).slice(0, 80);

/** Everything that a request, a decision or the policy could write. */
const state = async () => {
  const [counts] = await t.sql(
    `select (select count(*) from approvals) as approvals,
            (select md5(coalesce(string_agg(a::text, '|' order by a.approval_id), '')) from
               (select approval_id, status, scopes, access_seconds, approvals, decided_by, chain_id from approvals) a) as content,
            (select md5(coalesce(string_agg(p::text, '|' order by p.organization_id), '')) from approval_policies p) as policies,
            (select count(*) from delegations) as delegations,
            (select count(*) from approval_notifications) as notifications,
            (select count(*) from audit_events where action like 'approval%') as events`,
  );
  return counts;
};

const assertRefused = async (what: string, send: () => Promise<Answered>) => {
  const { status, text } = await send();
  assert.ok(status >= 400 && status < 500, `${what}: ${status} ${text}`);
};

const control = ['a\u0000b', 'a\u0007b', 'a\u001b[31mb', 'a\rb', 'a\u007fb', 'a\u0085b'];
const bidirectional = ['a\u202eb', 'a\u2066b', 'a\u200fb', 'a\u061cb'];
const unicode = ['\u{1F4B6}', '\uFF21\uFF22', 'e\u0301', '\uFEFFa', 'a\u200bb', 'ﬀ', '\u{E0041}'];
const injections = [
  "' or 1=1 --",
  '<script>alert(1)</script>',
  '{{7*7}}',
  '../../etc/passwd',
  '%00',
  '%2e%2e',
  '%s%n',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  'NaN',
];
const long = ['x'.repeat(5_000), 'ä'.repeat(20_000)];
const texts = [...control, ...bidirectional, ...unicode, ...injections, ...long];

/** Deep nesting that is small enough for the limit of bytes. */
const deep = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`;

const { personId, browser } = await member();

describe('fields of POST /bc-authorize', () => {
  const refused: Record<string, readonly string[]> = {
    scope: [
      ...texts.filter((text) => text !== ''),
      'orders:write\u0000',
      'ORDERS:WRITE',
      'orders:*',
      'x '.repeat(3_000),
    ],
    resource: [
      ...texts,
      'http://',
      'https://user:password@orders.example',
      `${api.identifier}#part`,
      `${api.identifier}/..`,
      api.identifier.toUpperCase(),
      other.resource.identifier,
      api.resourceId,
      organizationId,
    ],
    login_hint: [
      ...texts,
      'Approvers',
      'approvers ',
      'person',
      randomUUID(),
      `{${personId}}`,
      `${personId} `,
      personId.replaceAll('-', ''),
      other.personId,
      other.agent.agentId,
      organizationId,
      '@',
      `${'x'.repeat(300)}@example.com`,
      '%@example.com',
    ],
    binding_message: [
      ...control,
      ...bidirectional,
      ...long,
      '\u2028',
      'a\u2029b',
      ' \t',
      '\u{1F4B6}'.repeat(201),
      'x'.repeat(201),
    ],
    requested_expiry: [
      ...texts,
      '29',
      '86401',
      '-600',
      '+600',
      '600.0',
      '6e2',
      '0x258',
      ' 600',
      '600 ',
      '٦٠٠',
      '1'.repeat(30),
      'Infinity',
    ],
    access_expires_in: [...texts, '59', '86401', '-60', '60.5', '1e3', '0x3c', ' 60', '٦٠', '9'.repeat(32)],
    client_notification_token: [...texts, 'token', 'a b', 'a\r\nX: y', 'x'.repeat(1_025), '=', 'ä'],
    authorization_details: [
      ...texts,
      '{}',
      '[]',
      '[[]]',
      '[null]',
      '[1]',
      '"payment"',
      'true',
      '[{}]',
      '[{"type":1}]',
      '[{"type":"Payment"}]',
      '[{"type":"payment"}]',
      deep(100),
      deep(2_000),
      `[{"type":"payment","amount":1,"currency":${deep(100)}}]`,
      JSON.stringify([{ ...payment, amount: '120' }]),
      JSON.stringify([{ ...payment, amount: -0.01 }]),
      `[{"type":"payment","amount":1e999,"currency":"EUR"}]`,
      `[{"type":"payment","amount":NaN,"currency":"EUR"}]`,
      JSON.stringify([{ ...payment, currency: 'EURO' }]),
      JSON.stringify([{ ...payment, currency: 'E\u0000R' }]),
      JSON.stringify([{ ...payment, more: 1 }]),
      '[{"type":"payment","amount":1,"currency":"EUR","__proto__":{"amount":2}}]',
      '[{"type":"payment","amount":1,"currency":"EUR","constructor":1}]',
      JSON.stringify(Array.from({ length: 11 }, () => payment)),
      `[${' '.repeat(4_100)}${JSON.stringify(payment)}]`,
      `${JSON.stringify([payment])},`,
      `${JSON.stringify([payment])}${JSON.stringify([payment])}`,
    ],
  };

  for (const [field, values] of Object.entries(refused))
    it(`${field}: ${values.length} values are refused, and nothing is asked`, async () => {
      const client = await asker({ notificationUri: null });
      const before = await state();
      for (const value of values)
        await assertRefused(`${field} ${label(value)}`, () =>
          bcAuthorize(client, { login_hint: personId, [field]: value }),
        );
      assert.deepEqual(await state(), before);
    });

  it('a field twice is refused; a field without a value counts as left out', async () => {
    const client = await asker();
    const good = {
      ...client.credentials,
      scope: 'orders:write',
      resource: api.identifier,
      login_hint: personId,
      binding_message: 'Pay',
      authorization_details: JSON.stringify([payment]),
      requested_expiry: '600',
      access_expires_in: '60',
    };
    const before = await state();
    for (const [field, value] of Object.entries(good))
      await assertRefused(`${field} twice`, () =>
        t.call('POST', '/api/v1/bc-authorize', {
          payload: `${new URLSearchParams(good)}&${new URLSearchParams({ [field]: value })}`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        }),
      );
    assert.deepEqual(await state(), before);
    const { status, text } = await bcAuthorize(client, {
      ...good,
      binding_message: '',
      requested_expiry: '',
      access_expires_in: '',
      client_notification_token: '',
      authorization_details: '',
    });
    assert.equal(status, 200, text);
  });

  it('other kinds of bodies are refused: JSON, no type, names that repeat or nest', async () => {
    const client = await asker();
    const good = {
      ...client.credentials,
      scope: 'orders:write',
      resource: api.identifier,
      login_hint: personId,
    };
    const before = await state();
    const form = 'application/x-www-form-urlencoded';
    const bodies: [string, string][] = [
      [JSON.stringify(good), 'application/json'],
      [JSON.stringify(good), form],
      [`${new URLSearchParams(good)}`, 'text/plain'],
      ['', form],
      ['%', form],
      ['login_hint[a]=1&login_hint[b]=2', form],
      [`${new URLSearchParams({ ...good, login_hint: '' })}&login_hint[]=${personId}`, form],
      ['\u0000', form],
    ];
    for (const [payload, type] of bodies)
      await assertRefused(`${type} ${label(payload)}`, () =>
        t.call('POST', '/api/v1/bc-authorize', { payload, headers: { 'content-type': type } }),
      );
    assert.deepEqual(await state(), before);
  });

  it('the type of another API is unknown here, and its tenant cannot ask our people', async () => {
    const client = await asker();
    const bare = await scenario.makeResource();
    const before = await state();
    const details = { login_hint: personId, authorization_details: JSON.stringify([payment]) };
    await assertRefused('type of another API', () =>
      bcAuthorize(client, { ...details, resource: bare.identifier }),
    );
    for (const hint of [personId, 'approvers'])
      await assertRefused('another tenant asks', () => bcAuthorize(other.client, { login_hint: hint }));
    await assertRefused("another tenant's resource", () =>
      bcAuthorize(client, { login_hint: personId, resource: other.resource.identifier }),
    );
    assert.deepEqual(await state(), before);
  });

  it('text of all languages is kept as it was sent', async () => {
    const client = await asker();
    for (const message of [
      'Rechnung für Köln über 120 €',
      '支払い',
      'مرحبا',
      '<b>bold</b>',
      "'; drop table approvals; --",
      '\u{1F4B6}'.repeat(200),
    ]) {
      const { approvalId } = await request(client, { login_hint: personId, binding_message: message });
      assert.equal((await browser.request(`${ownApprovals}/${approvalId}`)).json.bindingMessage, message);
      await operate('DELETE', `/approvals/${approvalId}`);
    }
  });
});

describe('fields of a decision', () => {
  /** The second was not asked for; the person could lend it. */
  const scopes = ['orders:read', 'orders:write'];
  const wrong: readonly unknown[] = [null, 1, 1.5, true, [], {}, [null], [[]], '', ...texts];
  const bodies: readonly unknown[] = [
    ...wrong.map((decision) => ({ decision })),
    { decision: 'APPROVE' },
    { decision: 'approved' },
    { decision: ['approve'] },
    ...wrong.map((value) => ({ decision: 'approve', scopes: value })),
    ...texts.map((text) => ({ decision: 'approve', scopes: [text] })),
    { decision: 'approve', scopes: ['orders:read', 'orders:read'] },
    { decision: 'approve', scopes: ['orders:read', 'refund'] },
    { decision: 'approve', scopes: ['orders:read orders:write'] },
    { decision: 'approve', scopes: ['ORDERS:READ'] },
    { decision: 'approve', scopes: Array.from({ length: 1_000 }, (_, index) => `scope:${index}`) },
    ...wrong.filter((value) => value !== 1).map((value) => ({ decision: 'approve', accessExpiresIn: value })),
    ...[0, -60, 59, 3_601, 86_401, 1e300, 60.5, '60'].map((value) => ({
      decision: 'approve',
      accessExpiresIn: value,
    })),
    ...wrong
      .filter((value) => value !== true)
      .map((value) => ({ decision: 'approve', allowRedelegation: value })),
    { decision: 'approve', personId },
    { decision: 'approve', authorizationDetails: [{ ...payment, amount: 1 }] },
    { decision: 'approve', status: 'approved' },
    { scopes },
    { decision: 'approve', scopes },
    { decision: 'approve', scopes: ['orders:write'] },
    [],
    ['approve'],
  ];

  it(`${bodies.length} bodies are refused, and the request stays open`, async () => {
    const client = await asker();
    const { approvalId } = await request(client, { login_hint: personId, scope: 'orders:read' });
    const before = await state();
    for (const body of bodies)
      await assertRefused(label(body), () => decide(browser, approvalId, body as object));
    for (const payload of [
      '',
      '{',
      'null',
      '"approve"',
      deep(1_000),
      '{"decision":"approve","decision":"deny","x":1}',
    ])
      await assertRefused(label(payload), () =>
        browser.request(`${ownApprovals}/${approvalId}`, {
          method: 'POST',
          payload: payload as never,
          headers: {
            'content-type': 'application/json',
            'sec-fetch-site': 'same-origin',
            'x-countersign-console': '1',
          },
        }),
      );
    assert.deepEqual(await state(), before);
    assert.equal((await decide(browser, approvalId)).status, 200);
  });

  it('ids: unknown, malformed, of another tenant and of another kind are refused alike', async () => {
    const client = await asker();
    const { approvalId } = await request(client, { login_hint: personId });
    const before = await state();
    const ids = [
      randomUUID(),
      'x',
      '..%2f..',
      '%00',
      `${approvalId}%00`,
      `${approvalId}%20`,
      `{${approvalId}}`,
      approvalId.replaceAll('-', ''),
      `${approvalId},${approvalId}`,
      personId,
      client.agentId,
      organizationId,
      'x'.repeat(2_000),
    ];
    for (const id of ids) {
      await assertRefused(`decide ${label(id)}`, () => decide(browser, id));
      await assertRefused(`read ${label(id)}`, () => browser.request(`${ownApprovals}/${id}`));
      await assertRefused(`cancel ${label(id)}`, async () =>
        t.call('DELETE', `/api/v1/approvals/${id}`, { token: await t.token() }),
      );
    }
    // A person of another tenant, and an admin and the agent of it.
    const unknown = await decide(browser, randomUUID());
    const foreign = await decide(other.browser, approvalId);
    assert.deepEqual([foreign.status, foreign.json.code], [unknown.status, unknown.json.code]);
    const token = await t.token(undefined, other.agent);
    for (const method of ['GET', 'DELETE'] as const)
      assert.equal((await t.call(method, `/api/v1/approvals/${approvalId}`, { token })).status, 404);
    assert.deepEqual(await state(), before);
  });

  it('an agent cannot decide, in any spelling of the way in', async () => {
    const client = await asker({ allowedScopes: ['agents:read', 'audit:read'] });
    const { approvalId } = await request(client, { login_hint: personId });
    const before = await state();
    const token = await t.token(undefined, client.agent);
    const operator = await t.token();
    const paths = [
      `${ownApprovals}/${approvalId}`,
      `/console/api/v1/approvals/${approvalId}`,
      `/api/v1/approvals/${approvalId}`,
      `/api/v1/console/api/me/approvals/${approvalId}`,
      `${ownApprovals.replace('console', 'CONSOLE')}/${approvalId}`,
      `/${ownApprovals}/${approvalId}`,
    ];
    for (const path of paths)
      for (const bearer of [token, operator])
        for (const method of ['POST', 'PUT', 'PATCH'] as const)
          await assertRefused(`${method} ${path}`, () =>
            t.call(method, path, { token: bearer, headers: fromPage, payload: { decision: 'approve' } }),
          );
    // A session that acts as an agent, without a person.
    const console = createConsoleClient(t);
    const cookie = await console.cookieOf(t.operator);
    await assertRefused('session of an agent', () =>
      console.call(cookie, 'POST', `${ownApprovals}/${approvalId}`, { decision: 'approve' }),
    );
    // A page of another site.
    for (const headers of [{ 'sec-fetch-site': 'cross-site', 'x-countersign-console': '1' }, {}])
      await assertRefused('from another site', () =>
        browser.request(`${ownApprovals}/${approvalId}`, {
          method: 'POST',
          payload: { decision: 'approve' },
          headers: headers as Record<string, string>,
        }),
      );
    assert.deepEqual(await state(), before);
  });
});

describe('lists', () => {
  it('wrong queries are 400, and those of other tenants find nothing', async () => {
    const client = await asker();
    await request(client, { login_hint: personId });
    const queries = [
      'status=open',
      'status=',
      'status=pending&status=denied',
      'page=0',
      'page=-1',
      'page=x',
      'limit=0',
      'limit=101',
      'limit=1e1',
      'page=99999999999999999999',
      'page=%00',
    ];
    for (const query of queries) {
      const own = await browser.request(`${ownApprovals}?${query}`);
      const all = await t.call('GET', `/api/v1/approvals?${query}`, { token: await t.token() });
      for (const { status, text } of [own, all]) assert.equal(status, 400, `${query}: ${text}`);
    }
    for (const agentId of ['x', '', '%00', `${client.agentId},`])
      assert.equal(
        (await t.call('GET', `/api/v1/approvals?agentId=${agentId}`, { token: await t.token() })).status,
        400,
        agentId,
      );
    const foreign = await t.agent({ organization_id: other.orgId, allowedScopes: ['audit:read'] });
    const found = await t.call('GET', `/api/v1/approvals?agentId=${client.agentId}`, {
      token: await t.token(undefined, foreign),
    });
    assert.deepEqual([found.status, found.json.total], [200, 0]);
    assert.equal((await other.browser.request(ownApprovals)).json.total, 0);
  });
});

describe('fields of the approval policy', () => {
  const wrong: readonly unknown[] = [null, 'x', [], {}, -1, 1.5, ...texts];
  const bodies: readonly unknown[] = [
    ...wrong.map((maxAccessSeconds) => ({ maxAccessSeconds })),
    ...[0, 59, 86_401, 1e300, '3600', true].map((maxAccessSeconds) => ({ maxAccessSeconds })),
    ...[...wrong, 0, 1, 'true'].map((selfApproval) => ({ selfApproval })),
    ...[null, 'x', 1, true, {}, [null], [1], [{}], [[]], ['']].map((requireTwo) => ({ requireTwo })),
    ...[...control, ...bidirectional, ...unicode, ...long].map((text) => ({ requireTwo: [text] })),
    { requireTwo: [api.identifier, api.identifier] },
    { requireTwo: Array.from({ length: 101 }, (_, index) => `https://${index}.example`) },
    { selfApprovals: true },
    { organizationId: other.orgId },
    [],
    [{}],
  ];
  const url = `/api/v1/organizations/${organizationId}/approval-policy`;

  it(`${bodies.length} bodies are refused, and the policy stays`, async () => {
    await scenario.setPolicy({ maxAccessSeconds: 7_200 });
    const before = await state();
    const token = await t.token();
    for (const body of bodies)
      await assertRefused(label(body), () => t.call('PUT', url, { token, payload: body as object }));
    for (const payload of ['', '{', 'null', '1', deep(1_000)])
      await assertRefused(label(payload), () =>
        t.call('PUT', url, { token, payload, headers: { 'content-type': 'application/json' } }),
      );
    assert.deepEqual(await state(), before);
    assert.equal((await t.call('GET', url, { token })).json.maxAccessSeconds, 7_200);
    await scenario.setPolicy({});
  });

  it('organizations: malformed, unknown and of another tenant', async () => {
    const before = await state();
    const token = await t.token();
    for (const id of ['x', '%00', '..', randomUUID(), personId, `${organizationId}%20`]) {
      const path = `/api/v1/organizations/${id}/approval-policy`;
      await assertRefused(`GET ${id}`, () => t.call('GET', path, { token }));
      await assertRefused(`PUT ${id}`, () => t.call('PUT', path, { token, payload: {} }));
    }
    const foreign = await t.token(undefined, other.agent);
    for (const method of ['GET', 'PUT'] as const)
      await assertRefused(`${method} by another tenant`, () =>
        t.call(method, url, { token: foreign, ...(method === 'PUT' && { payload: {} }) }),
      );
    assert.equal(
      (await browser.change('PUT', `/console/api/v1/organizations/${organizationId}/approval-policy`, {}))
        .status >= 400,
      true,
    );
    assert.deepEqual(await state(), before);
  });
});
