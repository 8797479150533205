import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { createMatrixFixture } from '../../../test/support/principals.ts';
import { organizationScopes } from '../../contract/scopes.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', BASE_URL: 'https://id.example.com' });
const { agentIn, makeTarget, operatorToken } = await createMatrixFixture(t);
const api = '/api/v1';
const own = `${api}/marketplace/listings`;
const open = `${api}/marketplace/agents`;

const { organizationId } = await makeTarget();
const { token } = await agentIn(organizationId, organizationScopes);
const elsewhere = (await makeTarget()).organizationId;
const { token: foreign } = await agentIn(elsewhere, organizationScopes, 'admin');

const makeAgent = async (changes: Record<string, unknown> = {}, bearer = token) =>
  (await t.call('POST', `${api}/agents`, { token: bearer, payload: newAgent(changes) })).json;
const body = (agentId: string, changes: Record<string, unknown> = {}) => ({
  agentId,
  title: 'Résumé screener',
  summary: 'Reads résumés and says who fits.',
  ...changes,
});
const post = (payload: object, bearer = token) => t.call('POST', own, { token: bearer, payload });
const patch = (listingId: string, payload: object, bearer = token) =>
  t.call('PATCH', `${own}/${listingId}`, { token: bearer, payload });
const search = (query: string, bearer?: string) =>
  t.call('GET', `${open}?${query}`, bearer === undefined ? {} : { token: bearer });
const show = (listingId: string, bearer?: string) =>
  t.call('GET', `${open}/${listingId}`, bearer === undefined ? {} : { token: bearer });
const said = ({ status, json }: { status: number; json: { code: string } }) => `${status} ${json.code}`;

/** A published listing with a unique word. */
async function publish(changes: Record<string, unknown> = {}, agent: Record<string, unknown> = {}) {
  const { agentId } = await makeAgent(agent);
  const word = `w${randomUUID().replaceAll('-', '')}`;
  const created = await post(body(agentId, { title: `Agent ${word}`, ...changes }));
  assert.equal(created.status, 201, created.text);
  const { listingId } = created.json;
  assert.equal((await patch(listingId, { status: 'published' })).status, 200);
  const hits = async (bearer?: string) => (await search(`q=${word}`, bearer)).json.total as number;
  return { agentId, listingId, word, hits };
}

describe("the listing of an operator's agent", () => {
  it('403 FORBIDDEN for non-operators, to change or delete it', async () => {
    const { agentId } = await makeAgent(
      { organization_id: organizationId, allowedScopes: ['admin:orgs'] },
      operatorToken,
    );
    const { listingId } = (await post(body(agentId), operatorToken)).json;
    assert.equal(said(await patch(listingId, { title: 'Mine' })), '403 FORBIDDEN');
    assert.equal(said(await t.call('DELETE', `${own}/${listingId}`, { token })), '403 FORBIDDEN');
    assert.equal((await patch(listingId, { title: 'Ours' }, operatorToken)).status, 200);
  });
});

describe('the listing of an agent with more scopes or a higher role', () => {
  const endpoints = [{ protocol: 'a2a', url: 'https://thief.example.com/a2a' }];
  const a2aOf = async (agentId: string) =>
    (await t.call('GET', `${api}/agents/${agentId}/did/card?format=a2a`)).json.supportedInterfaces;

  for (const [what, strong, weak] of [
    [
      'lacks a scope of the agent',
      () => agentIn(organizationId, ['agents:read', 'audit:read']),
      () => agentIn(organizationId, ['agents:read', 'agents:write']),
    ],
    [
      'is no admin, and the agent is',
      () => agentIn(organizationId, organizationScopes, 'admin'),
      () => agentIn(organizationId, organizationScopes, 'member'),
    ],
  ] as const)
    it(`403 FORBIDDEN to create, change or publish it by a caller who ${what}; the card stays`, async () => {
      const [{ agentId }, { token: as }] = [await strong(), await weak()];
      assert.equal(said(await post(body(agentId, { endpoints }), as)), '403 FORBIDDEN');
      const { listingId } = (await post(body(agentId), operatorToken)).json;
      assert.equal(said(await patch(listingId, { endpoints }, as)), '403 FORBIDDEN');
      assert.equal(said(await patch(listingId, { status: 'published' }, as)), '403 FORBIDDEN');
      assert.equal((await patch(listingId, { status: 'published' }, operatorToken)).status, 200);
      assert.equal(said(await patch(listingId, { endpoints }, as)), '403 FORBIDDEN');
      assert.deepEqual(await a2aOf(agentId), []);
      // A PATCH that changes nothing, a withdrawal and a deletion need agents:write only.
      assert.equal((await patch(listingId, { status: 'published' }, as)).status, 200);
      const withdrawnWithMore = { status: 'withdrawn', endpoints };
      assert.equal(said(await patch(listingId, withdrawnWithMore, as)), '403 FORBIDDEN');
      assert.equal((await patch(listingId, { status: 'withdrawn' }, as)).status, 200);
      assert.equal(said(await patch(listingId, { status: 'published' }, as)), '403 FORBIDDEN');
      assert.equal((await t.call('DELETE', `${own}/${listingId}`, { token: as })).status, 204);
      assert.equal(said(await post(body(agentId, { endpoints }), as)), '403 FORBIDDEN');
    });

  it("201 and 200 for a caller with the agent's scopes and role", async () => {
    const { agentId } = await agentIn(organizationId, organizationScopes, 'admin');
    const { token: as } = await agentIn(organizationId, organizationScopes, 'admin');
    const created = await post(body(agentId, { endpoints }), as);
    assert.equal(created.status, 201);
    assert.equal((await patch(created.json.listingId, { status: 'published' }, as)).status, 200);
    assert.equal((await a2aOf(agentId))[0].url, 'https://thief.example.com/a2a');
  });
});

describe('POST /marketplace/listings', () => {
  it("201: a draft with the agent's fields, DID and card, visible to its own organization only", async () => {
    const { agentId } = await makeAgent({ capabilities: ['resume:read'], agentType: 'screener' });
    const created = await post(
      body(agentId, {
        description: '# Markdown',
        categories: ['hiring'],
        tags: ['cv'],
        endpoints: [{ protocol: 'a2a', url: 'https://agent.example.com/a2a' }],
        documentationUrl: 'https://agent.example.com/docs',
        pricing: { model: 'external', url: 'https://agent.example.com/prices' },
        visibility: 'organization',
      }),
    );
    assert.equal(created.status, 201, created.text);
    const { listingId, createdAt, updatedAt, ...rest } = created.json;
    assert.match(rest.organizationSlug, /^team-/);
    assert.deepEqual(rest, {
      organizationName: 'Some team',
      organizationSlug: rest.organizationSlug,
      agentId,
      organizationId,
      title: 'Résumé screener',
      summary: 'Reads résumés and says who fits.',
      description: '# Markdown',
      categories: ['hiring'],
      tags: ['cv'],
      capabilities: ['resume:read'],
      agentType: 'screener',
      version: '1.0.0',
      endpoints: [{ protocol: 'a2a', url: 'https://agent.example.com/a2a' }],
      documentationUrl: 'https://agent.example.com/docs',
      pricing: { model: 'external', url: 'https://agent.example.com/prices' },
      visibility: 'organization',
      verified: true,
      did: `did:web:id.example.com:agents:${agentId}`,
      cardUrl: `https://id.example.com/api/v1/agents/${agentId}/did/card`,
      status: 'draft',
      publishedAt: null,
    });
    assert.equal(createdAt, updatedAt);
    assert.deepEqual((await t.call('GET', `${own}/${listingId}`, { token })).json, created.json);
    assert.equal(
      said(await t.call('GET', `${own}/${listingId}`, { token: foreign })),
      '404 LISTING_NOT_FOUND',
    );
    assert.equal((await t.call('GET', `${own}/${listingId}`, { token: operatorToken })).status, 200);
    assert.equal(said(await show(listingId)), '404 LISTING_NOT_FOUND');
    assert.equal(said(await show(listingId, token)), '404 LISTING_NOT_FOUND');
  });

  it('409 LISTING_ALREADY_EXISTS for the second listing of an agent, and for all but one of fifty concurrent requests', async () => {
    const { agentId } = await makeAgent();
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(body(agentId))));
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(made.length, 1);
    for (const answer of answers.filter((one) => one !== made[0]))
      assert.equal(said(answer), '409 LISTING_ALREADY_EXISTS');
    assert.equal((await t.sql('select 1 from listings where agent_id = $1', [agentId])).length, 1);
    const events = await t.sql(
      "select 1 from audit_events where agent_id = $1 and action = 'listing.created'",
      [agentId],
    );
    assert.equal(events.length, 1);
  });

  it("404 AGENT_NOT_FOUND for another organization's agent or an unknown one; 403 AGENT_NOT_ACTIVE when suspended", async () => {
    const { agentId } = await makeAgent();
    assert.equal(said(await post(body(agentId), foreign)), '404 AGENT_NOT_FOUND');
    assert.equal(said(await post(body(randomUUID()))), '404 AGENT_NOT_FOUND');
    await t.call('PATCH', `${api}/agents/${agentId}`, { token, payload: { status: 'suspended' } });
    assert.equal(said(await post(body(agentId))), '403 AGENT_NOT_ACTIVE');
  });

  it('400 VALIDATION_ERROR for invalid and unknown fields', async () => {
    const { agentId } = await makeAgent();
    const bad: Record<string, unknown>[] = [
      { title: '' },
      { title: '   ' },
      { title: 'two\nlines' },
      { title: 'x'.repeat(121) },
      { summary: 'x'.repeat(281) },
      { summary: 'nul \u0000' },
      { summary: 'half \ud800' },
      { description: 'x'.repeat(8_193) },
      // 8,192 characters, but twice as many bytes.
      { description: 'ä'.repeat(8_192) },
      { categories: ['a', 'b', 'c', 'd', 'e', 'f'] },
      { categories: ['Big'] },
      { categories: ['a', 'a'] },
      { tags: ['two words'] },
      { endpoints: [{ protocol: 'a2a', url: 'http://agent.example.com' }] },
      { endpoints: [{ protocol: 'ftp', url: 'https://agent.example.com' }] },
      { endpoints: [{ protocol: 'a2a', url: 'https://user:password@agent.example.com' }] },
      { endpoints: [{ protocol: 'a2a', url: 'https://' }] },
      { endpoints: [{ protocol: 'a2a', url: 'https://agent.example.com', secret: 'x' }] },
      {
        endpoints: Array.from({ length: 11 }, (_, n) => ({
          protocol: 'http',
          url: `https://e.example/${n}`,
        })),
      },
      { documentationUrl: 'javascript:alert(1)' },
      { pricing: { model: 'external' } },
      { pricing: { model: 'auction' } },
      { pricing: { model: 'free', url: 'http://x.example' } },
      { visibility: 'secret' },
      { status: 'published' },
      { verified: true },
      { agentId: 'x' },
    ];
    for (const changes of bad) {
      const answer = await post(body(agentId, changes));
      assert.equal(said(answer), '400 VALIDATION_ERROR', JSON.stringify(changes).slice(0, 80));
    }
    const proto = await t.call('POST', own, {
      token,
      payload: JSON.stringify(body(agentId)).replace('{', '{"__proto__":{"x":1},'),
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(said(proto), '400 VALIDATION_ERROR');
    assert.equal((await post(body(agentId, { description: 'ä'.repeat(4_096) }))).status, 201);
  });
});

describe('PATCH and DELETE /marketplace/listings/{listingId}', () => {
  it('200: published, withdrawn, published again; one event each', async () => {
    const { listingId, agentId, hits } = await publish();
    assert.equal(await hits(), 1);
    assert.equal((await patch(listingId, { status: 'withdrawn' })).json.status, 'withdrawn');
    assert.equal(await hits(), 0);
    const again = await patch(listingId, { status: 'published', title: 'Another name' });
    assert.equal(again.json.status, 'published');
    assert.equal(await hits(), 0);
    const actions = await t.sql(
      "select action from audit_events where agent_id = $1 and action like 'listing.%' order by event_id",
      [agentId],
    );
    assert.deepEqual(
      actions.map(({ action }) => action),
      ['listing.created', 'listing.published', 'listing.withdrawn', 'listing.published'],
    );
  });

  it('200 and no event when nothing changes; 400 IMMUTABLE_FIELD; 400 for an unknown transition', async () => {
    const { listingId, agentId } = await publish();
    const before = (await t.call('GET', `${own}/${listingId}`, { token })).json;
    const count = async () =>
      (await t.sql('select 1 from audit_events where agent_id = $1', [agentId])).length;
    const events = await count();
    for (const payload of [{}, { status: 'published' }, { tags: [] }, { pricing: { model: 'free' } }])
      assert.deepEqual((await patch(listingId, payload)).json, before);
    assert.equal(await count(), events);
    assert.equal(said(await patch(listingId, { agentId: randomUUID() })), '400 IMMUTABLE_FIELD');
    assert.equal(said(await patch(listingId, { status: 'draft' })), '400 VALIDATION_ERROR');
    assert.equal(said(await patch(listingId, { verified: true })), '400 VALIDATION_ERROR');
    assert.equal(said(await patch('x', {})), '400 VALIDATION_ERROR');
  });

  it('404 LISTING_NOT_FOUND for another organization, which changes nothing', async () => {
    const { listingId } = await publish();
    assert.equal(said(await patch(listingId, { title: 'Mine' }, foreign)), '404 LISTING_NOT_FOUND');
    const removed = await t.call('DELETE', `${own}/${listingId}`, { token: foreign });
    assert.equal(said(removed), '404 LISTING_NOT_FOUND');
    const listed = await t.call('GET', own, { token: foreign });
    assert.deepEqual(
      [listed.json.total, listed.json.data.map((one: { organizationId: string }) => one.organizationId)],
      [1, [elsewhere]],
    );
  });

  it('403 FORBIDDEN to suspend, reinstate or delete a suspended listing, for non-operators', async () => {
    const { listingId, hits } = await publish();
    const refused = await patch(listingId, { status: 'suspended' });
    assert.equal(said(refused), '403 FORBIDDEN');
    assert.match(refused.json.message, /scope admin:orgs/);
    assert.equal((await patch(listingId, { status: 'suspended' }, operatorToken)).status, 200);
    assert.equal(await hits(token), 0);
    for (const status of ['draft', 'published', 'withdrawn'])
      assert.equal(said(await patch(listingId, { status })), '403 FORBIDDEN');
    assert.equal(said(await t.call('DELETE', `${own}/${listingId}`, { token })), '403 FORBIDDEN');
    assert.equal((await patch(listingId, { summary: 'Mended.' })).status, 200);
    assert.equal((await patch(listingId, { status: 'published' }, operatorToken)).status, 200);
    assert.equal(await hits(), 1);
    assert.equal((await t.call('DELETE', `${own}/${listingId}`, { token })).status, 204);
    assert.equal(said(await t.call('GET', `${own}/${listingId}`, { token })), '404 LISTING_NOT_FOUND');
  });

  it('fifty concurrent changes all succeed, and the count is right', async () => {
    const { listingId } = await publish();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        patch(listingId, n % 2 ? { summary: `Summary ${n}` } : { status: n % 4 ? 'withdrawn' : 'published' }),
      ),
    );
    assert.ok(answers.every(({ status }) => status === 200));
    const counted = await t.sql<{ status: string; listings: number }>(
      'select status, sum(listings)::int as listings from listing_counts where organization_id = $1 group by 1 having sum(listings) <> 0 order by 1',
      [organizationId],
    );
    const real = await t.sql(
      'select status, count(*)::int as listings from listings where organization_id = $1 group by 1 order by 1',
      [organizationId],
    );
    assert.deepEqual(counted, real);
  });
});

describe('GET /marketplace/listings', () => {
  it("200 by agent, with its own total; nothing for another organization's agent", async () => {
    const { agentId, listingId } = await publish();
    await publish();
    const read = async (query: string, bearer = token) => {
      const { status, json, text } = await t.call('GET', `${own}?${query}`, { token: bearer });
      assert.equal(status, 200, text);
      return [json.total, json.data.map((one: { listingId: string }) => one.listingId)];
    };
    assert.deepEqual(await read(`agentId=${agentId}`), [1, [listingId]]);
    assert.deepEqual(await read(`agentId=${agentId.toUpperCase()}&status=published`), [1, [listingId]]);
    assert.deepEqual(await read(`agentId=${agentId}&status=draft`), [0, []]);
    assert.deepEqual(await read(`agentId=${agentId}`, foreign), [0, []]);
    assert.deepEqual(await read(`agentId=${agentId}`, operatorToken), [1, [listingId]]);
    assert.deepEqual(await read(`agentId=${randomUUID()}`), [0, []]);
    assert.equal(said(await t.call('GET', `${own}?agentId=x`, { token })), '400 VALIDATION_ERROR');
  });
});

describe('GET /marketplace/agents', () => {
  it('200: hidden while its agent is suspended, visible after reactivation; hidden for good after decommissioning', async () => {
    const { agentId, listingId, hits } = await publish();
    const set = (status: string) =>
      t.call('PATCH', `${api}/agents/${agentId}`, { token, payload: { status } });
    await set('suspended');
    assert.equal(await hits(), 0);
    assert.equal(await hits(token), 0);
    assert.equal(said(await show(listingId)), '404 LISTING_NOT_FOUND');
    await set('active');
    assert.equal(await hits(), 1);
    assert.equal((await show(listingId)).json.verified, true);
    await t.call('DELETE', `${api}/agents/${agentId}`, { token });
    assert.equal(await hits(), 0);
    assert.equal((await t.call('GET', `${own}/${listingId}`, { token })).json.status, 'published');
  });

  it('200: hidden while its organization is suspended', async () => {
    const home = (await makeTarget()).organizationId;
    const member = await agentIn(home, organizationScopes);
    const { listingId } = (await post(body(member.agentId), member.token)).json;
    await patch(listingId, { status: 'published' }, member.token);
    assert.equal((await show(listingId)).status, 200);
    const set = (status: string) =>
      t.call('PATCH', `${api}/organizations/${home}`, { token: operatorToken, payload: { status } });
    const total = async () => (await search('')).json.total;
    const before = await total();
    await set('suspended');
    assert.equal(said(await show(listingId)), '404 LISTING_NOT_FOUND');
    // The organization already has a listing.
    assert.equal(await total(), before - 2);
    await set('active');
    assert.equal((await show(listingId)).status, 200);
  });

  it('200: agent fields are always current', async () => {
    const { agentId, listingId } = await publish({}, { capabilities: ['old:thing'] });
    const capability = `c${randomUUID().slice(0, 8)}:do`;
    await t.call('PATCH', `${api}/agents/${agentId}`, {
      token,
      payload: { capabilities: [capability], agentType: 'router', version: '2.0.0' },
    });
    const { capabilities, agentType, version } = (await show(listingId)).json;
    assert.deepEqual([capabilities, agentType, version], [[capability], 'router', '2.0.0']);
    assert.equal((await search(`capability=${capability}`)).json.data[0].listingId, listingId);
    assert.equal((await search(`capability=${capability}&agentType=router`)).json.total, 1);
    assert.equal((await search(`capability=${capability}&agentType=monitor`)).json.total, 0);
  });

  it('200: visibility organization shows a listing only to callers of that organization with a token', async () => {
    const { listingId, hits } = await publish({ visibility: 'organization' });
    assert.deepEqual(
      [await hits(), await hits(foreign), await hits(operatorToken), await hits(token)],
      [0, 0, 0, 1],
    );
    assert.equal(await hits('not.a.token'), 0);
    for (const who of [undefined, foreign])
      assert.equal(said(await show(listingId, who)), '404 LISTING_NOT_FOUND');
    assert.equal((await show(listingId, token)).status, 200);
    // Totals do not count it either.
    const [anyone, ours] = [(await search('')).json.total, (await search('', token)).json.total];
    assert.ok(ours > anyone);
  });

  it('200: by words (stemmed, title before text), category and verification', async () => {
    const mark = `m${randomUUID().replaceAll('-', '')}`;
    const text = await publish({ title: 'Text', description: `about ${mark} invoices for payroll` });
    const title = await publish({ title: `The ${mark}`, description: 'invoice', categories: ['finance'] });
    const found = async (query: string) =>
      (await search(query)).json.data.map(({ listingId }: { listingId: string }) => listingId);
    assert.deepEqual(await found(`q=${mark}`), [title.listingId, text.listingId]);
    assert.deepEqual(await found(`q=${mark}+invoicing`), [title.listingId, text.listingId]);
    assert.deepEqual(await found(`q=${mark}+-payroll`), [title.listingId]);
    assert.deepEqual(await found(`q=${mark}&category=finance`), [title.listingId]);
    assert.deepEqual(await found(`q=${mark}&verified=false`), []);
    const second = await search(`q=${mark}&limit=1&page=2`);
    assert.deepEqual([second.json.total, second.json.data[0].listingId], [2, text.listingId]);
    const beyond = await search(`q=${mark}&limit=1&page=9`);
    assert.deepEqual([beyond.json.total, beyond.json.data], [2, []]);
  });

  const written: [string, string[]][] = [
    [
      'Invoice→ledger “smart” matcher',
      ['invoice', 'ledger', 'smart', '“smart”', 'matcher — ledger', 'smart…', 'ledger 😀'],
    ],
    [
      'Überprüfung «Quixotic» Rechnung–Leser',
      ['quixotic', 'rechnung', 'leser', 'überprüfung', 'Überprüfung'.normalize('NFD')],
    ],
    ['请求，审核 代理', ['请求', '审核', '代理']],
    ['CI/CD helper', ['ci', 'cd', 'CI CD', 'ci/cd', '“ci/cd helper”']],
    ['C++ & Node.js linter', ['node', 'node.js', 'linter', 'c++']],
    ['AI <agent> for R&D', ['agent', 'ai', 'r&d', '<agent>']],
    ['GPT-4 ﬁnder', ['gpt 4', 'gpt-4', 'finder', '\u200bfinder']],
  ];
  for (const [title, questions] of written)
    it(`200: "${title}" is found by its words, with any separators`, async () => {
      const { listingId } = await publish({ title });
      for (const q of questions) {
        const { json } = await search(`q=${encodeURIComponent(q)}`);
        const ids = json.data.map((listing: { listingId: string }) => listing.listingId);
        assert.ok(ids.includes(listingId), q);
      }
    });

  it('200: either word with or, exact phrases; labels of the index cannot be searched as words', async () => {
    const mark = `m${randomUUID().replaceAll('-', '')}`;
    const red = await publish({
      title: 'One',
      description: `${mark} the red fox runs`,
      categories: ['animals'],
    });
    const blue = await publish({ title: 'Two', description: `${mark} a fox of blue colour` });
    const found = async (q: string) =>
      (await search(`q=${encodeURIComponent(q)}`)).json.data.map(
        ({ listingId }: { listingId: string }) => listingId,
      );
    assert.deepEqual(await found(`${mark} red or ${mark} blue`), [blue.listingId, red.listingId]);
    assert.deepEqual(await found(`${mark} "red fox"`), [red.listingId]);
    assert.deepEqual(await found(`${mark} "blue fox"`), []);
    assert.deepEqual(await found(`${mark} -blue or ${mark} -red`), [blue.listingId, red.listingId]);
    for (const label of ['CATEGORY:animals', 'category:animals', 'HEADLINE:one', 'VERIFIED:true'])
      assert.deepEqual(await found(`${mark} ${label} -one -two`), []);
    assert.equal((await search('category=animals&agentType=screener')).json.total, 1);
    const words = Array.from({ length: 9 }, (_, n) => `word${n}`).join(' ');
    const long = await publish({ title: 'Three', description: `${mark} ${words} ${'x'.repeat(2_040)}` });
    assert.deepEqual(await found(`${mark} ${words}`), [long.listingId]);
    assert.deepEqual(await found(`${mark} ${words} word9`), []);
  });

  it('200: at most two hundred matches in pages; an old title match comes before newer matches', async () => {
    const mark = `m${randomUUID().replaceAll('-', '')}`;
    const old = await publish({ title: `The ${mark}` });
    await t.sql(
      `with made as (
         insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env, status,
                             allowed_scopes, created_at, updated_at)
         select gen_random_uuid(), $1::uuid, $2 || n || '@example.com', 'router', '1.0.0', array['a:b'], 'o', 'staging', 'active', '{}',
                now(), now() from generate_series(1, 230) n returning agent_id
       )
       insert into listings (listing_id, agent_id, organization_id, title, summary, description, categories, tags, endpoints, pricing,
                             visibility, status, published_at, created_at, updated_at, agent_type, version, capabilities,
                             agent_active, verified)
       select gen_random_uuid(), agent_id, $1::uuid, 'Agent', 'One of many', 'about ' || $2, '{}', '{}', '[]', '{"model":"free"}', 'public',
              'published', now(), now(), now(), 'router', '1.0.0', array['a:b'], true, true from made`,
      [organizationId, mark],
    );
    const seen: string[] = [];
    for (const page of [1, 2, 3]) {
      const { json } = await search(`q=${mark}&limit=100&page=${page}`);
      assert.equal(json.total, 200);
      seen.push(...json.data.map(({ listingId }: { listingId: string }) => listingId));
    }
    assert.equal(seen[0], old.listingId);
    assert.deepEqual([seen.length, new Set(seen).size], [200, 200]);
  });

  it('200 for arbitrary input: search syntax is text', async () => {
    for (const q of [
      "'",
      '"',
      '\\',
      '&',
      '|',
      '!',
      '(',
      ':*',
      'a:*',
      '<->',
      "'); drop table listings; --",
      '%',
      '$1',
      '*',
      ' ',
      'or',
      '-',
      '""',
      '日本',
      '😀',
      'the',
      '-'.repeat(200),
    ]) {
      const answer = await search(`q=${encodeURIComponent(q)}`);
      assert.equal(answer.status, 200, `${q}: ${answer.text}`);
    }
    for (const q of ['the', ' ', '-', '""', 'or', 'the or of', '!'])
      assert.equal((await search(`q=${encodeURIComponent(q)}`)).json.total, 0, q);
    const [, ...many] = Array.from({ length: 40 }, (_, n) => `x${n}`);
    assert.equal((await search(`q=${many.join('+')}`)).json.total, 0);
    for (const filter of ["capability=';--", 'capability={a,b}', 'category=%27', 'capability='])
      assert.equal((await search(filter)).json.total, 0);
    assert.ok((await search('q=')).json.total > 0);
  });

  it('400 VALIDATION_ERROR for NUL, 10 KB, invalid pages and invalid filters', async () => {
    for (const query of [
      'q=%00',
      `q=${'x'.repeat(10_240)}`,
      'q=a&q=b',
      'capability=%00',
      'agentType=boss',
      'verified=yes',
      'limit=101',
      'limit=0',
      'page=0',
      'page=999999999999999999999',
    ])
      assert.equal(said(await search(query)), '400 VALIDATION_ERROR', query.slice(0, 40));
    assert.equal(said(await show('x')), '400 VALIDATION_ERROR');
    assert.equal((await search('nonsense=1')).status, 200);
  });
});

describe('the search index', () => {
  it('has exactly the published listings after any sequence of changes; a deletion leaves nothing behind', async () => {
    const mark = `m${randomUUID().replaceAll('-', '')}`;
    const { listingId } = await publish(
      { tags: [mark], categories: ['tidy-things'] },
      { capabilities: ['dust:sweep'] },
    );
    for (const q of [mark, `${mark} dust`, `${mark} tidy`])
      assert.equal((await search(`q=${encodeURIComponent(q)}`)).json.total, 1, q);
    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        patch(listingId, n % 3 ? { summary: `Summary ${n}` } : { status: n % 2 ? 'withdrawn' : 'published' }),
      ),
    );
    const wrong = await t.sql(
      `select l.listing_id, i.listing_id from (select * from listings where status = 'published' and agent_active) l
       full join listing_index i using (listing_id) where l.listing_id is null or i.listing_id is null or l.place <> i.place`,
    );
    assert.deepEqual(wrong, []);
    assert.equal((await t.call('DELETE', `${own}/${listingId}`, { token })).status, 204);
    assert.deepEqual(await t.sql('select 1 from listing_words where word = $1', [mark]), []);
  });

  it('200: an edited listing keeps its position, a republished one is the newest', async () => {
    const mark = `m${randomUUID().replaceAll('-', '')}`;
    const [first, second] = [await publish({ tags: [mark] }), await publish({ tags: [mark] })];
    const order = async () =>
      (await search(`q=${mark}`)).json.data.map(({ listingId }: { listingId: string }) => listingId);
    await patch(first.listingId, { summary: 'Changed.' });
    for (const status of ['suspended', 'active'])
      await t.call('PATCH', `${api}/agents/${first.agentId}`, { token, payload: { status } });
    assert.deepEqual(await order(), [second.listingId, first.listingId]);
    await patch(first.listingId, { status: 'withdrawn' });
    await patch(first.listingId, { status: 'published' });
    assert.deepEqual(await order(), [first.listingId, second.listingId]);
    const browsed = (await search('limit=2')).json.data.map(
      ({ listingId }: { listingId: string }) => listingId,
    );
    assert.deepEqual(browsed, [first.listingId, second.listingId]);
  });
});

describe('the A2A card', () => {
  it('names the A2A endpoints of the listing while it is published and public', async () => {
    const url = 'https://agent.example.com/a2a';
    const { agentId, listingId } = await publish({
      endpoints: [
        { protocol: 'a2a', url },
        { protocol: 'mcp', url: 'https://agent.example.com/mcp' },
      ],
    });
    const interfaces = async () =>
      (await t.call('GET', `/agents/${agentId}/.well-known/agent-card.json`)).json.supportedInterfaces;
    assert.deepEqual(await interfaces(), [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]);
    await patch(listingId, { visibility: 'organization' });
    assert.deepEqual(await interfaces(), []);
  });
});
