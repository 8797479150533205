/** People who are invited to an organization, and who sign in through a provider. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createBrowser, type TestBrowser } from '../clients/browser.ts';
import { newAgent, type TestApp } from '../harness.ts';
import type { SignInProvider } from '../peers/sign-in-provider.ts';

export const start = '/console/api/oidc/start';
export const callback = '/console/api/oidc/callback';

export const organizationScopes = [
  'agents:read',
  'agents:write',
  'tokens:read',
  'audit:read',
  'webhooks:read',
  'webhooks:write',
];

export async function createPeopleScenario(t: TestApp, provider: SignInProvider, baseUrl: string) {
  const token = await t.token();

  const asOperator = async (method: 'POST' | 'PATCH' | 'DELETE' | 'GET', url: string, payload?: object) => {
    const answer = await t.call(method, `/api/v1${url}`, { token, ...(payload && { payload }) });
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${answer.text}`);
    return answer.text === '' ? undefined : answer.json;
  };

  const makeOrganization = async (name = 'Talent'): Promise<string> =>
    (
      await asOperator('POST', '/organizations', {
        name,
        slug: `team-${randomUUID().slice(0, 18)}`,
        planTier: 'pro',
      })
    ).organizationId;

  /**
   * A person of a new organization, or of the given one, who acts through an agent of their own and has signed in before, unless the
   * invitation is new.
   */
  async function invite(
    changes: Record<string, unknown> = {},
    organizationId?: string,
    { isNew = false } = {},
  ) {
    const home = organizationId ?? (await makeOrganization());
    const agent = newAgent({ organization_id: home, allowedScopes: organizationScopes });
    const agentId: string =
      (changes.agentId as string) ?? (await asOperator('POST', '/agents', agent)).agentId;
    const person = await asOperator('POST', `/organizations/${home}/people`, {
      issuer: provider.issuer,
      subject: `person-${randomUUID()}`,
      name: 'Ada Lovelace',
      role: 'admin',
      ...changes,
      agentId,
    });
    if (!isNew)
      await t.sql('update people set last_sign_in_at = created_at where person_id = $1', [person.personId]);
    const url = `/organizations/${home}/people/${person.personId}`;
    return { organizationId: home, agentId, person, url };
  }

  /** To the provider and through its page, up to its redirect to the callback. */
  async function logIn(
    browser: TestBrowser,
    login: string,
    { address = start, answer = 'yes' } = {},
  ): Promise<string> {
    const page = await browser.visit(address);
    assert.equal(page.status, 200, page.text);
    const back = await browser.visit(page.url, { method: 'POST', form: { login, answer }, stopAt: callback });
    assert.ok(back.location?.includes(callback), `${back.status} ${back.text}`);
    return back.location as string;
  }

  /** The answer to the callback. */
  async function signIn(browser: TestBrowser, login: string, address = start) {
    const answer = await browser.request(await logIn(browser, login, { address }));
    assert.equal(answer.status, 302, answer.text);
    return answer;
  }

  /** A browser with a session of the person. */
  async function signedIn(person: { subject: string }): Promise<TestBrowser> {
    const browser = createBrowser(t, baseUrl);
    assert.equal((await signIn(browser, person.subject)).location, '/console');
    return browser;
  }

  return { asOperator, makeOrganization, invite, logIn, signIn, signedIn };
}
