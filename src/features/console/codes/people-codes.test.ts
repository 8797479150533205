/** The command line of a person who has signed in through a provider. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBrowser, type TestBrowser } from '../../../../test/support/clients/browser.ts';
import { newAgent, startApp } from '../../../../test/support/harness.ts';
import { startSignInProvider } from '../../../../test/support/peers/sign-in-provider.ts';
import { callback, createPeopleScenario } from '../../../../test/support/scenarios/people.ts';

const baseUrl = 'https://countersign.test';
const provider = await startSignInProvider([baseUrl + callback]);
const t = await startApp({ BASE_URL: baseUrl, ...provider.variables });
const { asOperator, invite, signedIn } = await createPeopleScenario(t, provider, baseUrl);
const sessionUrl = '/console/api/session';
const api = '/console/api/v1';

const commandLineOf = async (browser: TestBrowser): Promise<TestBrowser> => {
  const made = await browser.change('POST', '/console/api/command-line-codes');
  assert.equal(made.status, 201, made.text);
  const commandLine = createBrowser(t, baseUrl);
  const answer = await commandLine.change('POST', sessionUrl, { code: made.json.code });
  assert.equal(answer.status, 204, answer.text);
  return commandLine;
};
const statusOf = async (browser: TestBrowser) => (await browser.request(sessionUrl)).status;

describe('the command line of a person', () => {
  it('201 for an admin, under the own name in the audit log', async () => {
    const { person, agentId } = await invite();
    const commandLine = await commandLineOf(await signedIn(person));
    assert.equal((await commandLine.change('POST', `${api}/agents`, newAgent())).status, 201);
    const { json } = await commandLine.request(`${api}/audit?actorId=${agentId}&limit=50`);
    const by = { personId: person.personId, name: 'Ada Lovelace' };
    const acts = json.data.map(({ action, metadata }: Record<string, Record<string, unknown>>) => [
      action,
      metadata?.person,
    ]);
    for (const action of ['session.code_created', 'session.created', 'agent.created']) {
      const people = acts.filter(([type]: [string]) => type === action).map(([, who]: unknown[]) => who);
      assert.deepEqual(people, action === 'session.created' ? [by, by] : [by], action);
    }
  });

  it('403 FORBIDDEN for every change of a viewer, who may make a code', async () => {
    const { person } = await invite({ role: 'viewer' });
    const browser = await signedIn(person);
    const commandLine = await commandLineOf(browser);
    const [of, to] = [await browser.request(sessionUrl), await commandLine.request(sessionUrl)];
    assert.deepEqual(to.json, of.json);
    assert.equal(to.json.role, 'viewer');
    assert.equal((await commandLine.request(`${api}/agents`)).status, 200);
    const answer = await commandLine.change('POST', `${api}/agents`, newAgent());
    assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
    assert.match(answer.json.message, /viewer/);
  });

  it('201 for a member, who can do the same as in the browser: what belongs to the person', async () => {
    const { person, url } = await invite();
    await asOperator('PATCH', url, { role: 'member', agentId: null });
    const browser = await signedIn(person);
    const commandLine = await commandLineOf(browser);
    const { json } = await commandLine.request(sessionUrl);
    assert.deepEqual([json.role, json.agentId, json.scopes], ['member', null, []]);
    assert.equal((await commandLine.request('/console/api/me/approvals')).status, 200);
    assert.equal((await commandLine.request(`${api}/agents`)).status, 403);
    assert.equal((await commandLine.change('POST', `${api}/agents`, newAgent())).status, 403);
    assert.equal((await commandLine.change('POST', '/console/api/command-line-codes')).status, 403);
    assert.equal((await browser.change('DELETE', sessionUrl)).status, 204);
    assert.equal(await statusOf(commandLine), 401);
  });

  it('401 when the person is removed or gets another role', async () => {
    for (const end of ['DELETE', 'PATCH'] as const) {
      const { person, url } = await invite();
      const commandLine = await commandLineOf(await signedIn(person));
      assert.equal(await statusOf(commandLine), 200);
      await asOperator(end, url, end === 'PATCH' ? { role: 'viewer' } : undefined);
      assert.equal(await statusOf(commandLine), 401, end);
    }
  });
});
