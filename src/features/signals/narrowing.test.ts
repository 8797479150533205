/** Changes that take scopes away: one signal for each person or agent and organization, and none for changes that take nothing away. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { createAuthorizationScenario } from '../../../test/support/scenarios/authorization.ts';
import { createResourceClient, type TestAgent } from '../../../test/support/scenarios/resources/resources.ts';

const scenario = await createAuthorizationScenario();
const { t, operate, makeResource, member, publicClient, tokensFor } = scenario;
const { tenant, share, unshare, grant } = createResourceClient(t);
const operator = async () => ({ token: await t.token() });
const [first, second] = [await tenant(), await tenant()];

/** A member who lets a client act at the resource, and the chain. */
const consented = async (identifier: string) => {
  const { browser, personId } = await member();
  const tokens = await tokensFor(browser, await publicClient(), { resource: identifier });
  return { personId, chainId: String(decodeJwt(String(tokens.access_token)).chain_id) };
};

/** The same in another organization. */
const copied = async ({ personId, chainId }: { personId: string; chainId: string }, to: TestAgent) => {
  const { organizationId, agentId } = to;
  const [person, chain] = [randomUUID(), randomUUID()];
  await t.sql(
    `insert into people select (jsonb_populate_record(p, $2::jsonb)).* from people p where person_id = $1`,
    [
      personId,
      JSON.stringify({
        person_id: person,
        organization_id: organizationId,
        subject: person,
        connection_id: null,
      }),
    ],
  );
  await t.sql(
    `insert into delegations select (jsonb_populate_record(d, $2::jsonb)).* from delegations d where chain_id = $1`,
    [
      chainId,
      JSON.stringify({
        chain_id: chain,
        root_chain_id: chain,
        path: [chain],
        organization_id: organizationId,
        subject_id: person,
        delegator_id: person,
        delegatee_id: agentId,
      }),
    ],
  );
  return person;
};

/** Written since, about a person or an agent: the organizations, and the scopes that remain. */
const countSignals = async () =>
  Number((await t.sql<{ n: string }>('select count(*) as n from signals'))[0]?.n);
const signalsAbout = async (id: string) =>
  (
    await t.sql<{ organization_id: string; scope: string }>(
      `select organization_id, details -> 'claims' ->> 'scope' as scope from signals
       where subject -> 'user' ->> 'sub' = $1 order by signal_id`,
      [id],
    )
  ).map(({ organization_id, scope }) => [organization_id, scope]);

/** How often a statement ran. */
const runsOf = async (operation: string) =>
  Number(
    new RegExp(`^service_db_query_duration_seconds_count\\{operation="${operation}"\\} (\\d+)$`, 'm').exec(
      (await t.call('GET', '/metrics')).text,
    )?.[1] ?? 0,
  );

const shared = async () => {
  const resource = await makeResource({ peopleScopes: ['orders:read', 'orders:write'] });
  for (const { organizationId } of [first, second])
    assert.equal(
      (await share(await operator(), resource.resourceId, organizationId, ['orders:read', 'orders:write']))
        .status,
      200,
    );
  const own = await consented(resource.identifier);
  const other = await copied(own, first);
  return { ...resource, person: own.personId, other };
};

describe('what people may lend', () => {
  it('narrowing a resource with two shares: one signal per person and organization, by one query', async () => {
    const { resourceId, person, other } = await shared();
    const before = await runsOf('resources.findLending');
    await operate('PATCH', `/resources/${resourceId}`, {
      peopleScopes: ['orders:read'],
      scopes: [{ name: 'orders:read' }],
    });
    assert.equal(await runsOf('resources.findLending'), before + 1);
    assert.deepEqual(await signalsAbout(person), [[scenario.organizationId, 'orders:read']]);
    assert.deepEqual(
      (await signalsAbout(other)).toSorted(),
      [first.organizationId, scenario.organizationId].map((id) => [id, 'orders:read']).toSorted(),
    );
  });

  it('the end of a share concerns the people of its organization only', async () => {
    const { resourceId, person, other } = await shared();
    assert.equal((await unshare(await operator(), resourceId, first.organizationId)).status, 204);
    assert.deepEqual(
      (await signalsAbout(other)).toSorted(),
      [first.organizationId, scenario.organizationId].map((id) => [id, '']).toSorted(),
    );
    assert.deepEqual(
      (await signalsAbout(person)).map(([, scopes]) => scopes?.split(' ').toSorted()),
      [['orders:read', 'orders:write']],
    );
  });
});

describe('resources and grants', () => {
  it('no signal for another name of a resource, and for a grant that is made or widened; one when it loses scopes', async () => {
    const { resourceId } = await makeResource();
    const { agentId } = await t.agent();
    const before = await countSignals();
    await operate('PATCH', `/resources/${resourceId}`, { name: 'Another name' });
    const give = async (scopes: string[]) =>
      assert.equal((await grant(await operator(), agentId, resourceId, scopes)).status, 200);
    await give(['orders:read']);
    await give(['orders:read', 'refund']);
    assert.equal(await countSignals(), before);
    await give(['refund', 'orders:write']);
    const written = await signalsAbout(agentId);
    assert.deepEqual(
      written.map(([, scopes]) => scopes?.split(' ').toSorted()),
      [['orders:write', 'refund']],
    );
    await operate('PATCH', `/resources/${resourceId}`, { scopes: [{ name: 'refund' }] });
    assert.deepEqual((await signalsAbout(agentId)).at(-1)?.[1], 'refund');
    assert.equal(await countSignals(), before + 3, 'the last one is about the resource itself');
  });

  it('the owners of all grants that end with a resource are found by one query', async () => {
    const { resourceId } = await makeResource();
    const agents = [await t.agent(), await t.agent(), await t.agent()];
    for (const { agentId } of agents)
      assert.equal((await grant(await operator(), agentId, resourceId, ['refund'])).status, 200);
    const before = await runsOf('signals.findRecipients');
    await operate('DELETE', `/resources/${resourceId}`);
    assert.equal(await runsOf('signals.findRecipients'), before + 1);
    for (const { agentId } of agents)
      assert.deepEqual(
        (await signalsAbout(agentId)).map(([, scopes]) => scopes),
        [''],
      );
  });
});
