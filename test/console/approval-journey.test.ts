/**
 * The whole way of an approval: an agent asks for a payment of 120 EUR, a person signs in, sees the amount and approves, and an API
 * takes the agent's token for 120 EUR and refuses it for 121.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '../../sdk/typescript/src/sdk.ts';
import { createOutbound } from '../../src/adapters/outbound/outbound.ts';
import { guidePrograms, resourceOf } from '../support/clients/guide-programs.ts';
import { browserTest, startConsole } from '../support/console.ts';
import { startSignInProvider } from '../support/peers/sign-in-provider.ts';
import { until } from '../support/programs.ts';

const provider = await startSignInProvider([], '127.0.0.2');
const server = await startConsole(
  {},
  {
    outbound: createOutbound({
      allowPrivate: false,
      resolve: async () => ['127.0.0.1'],
      isPublic: (address) => address.startsWith('127.0.0.'),
      delay: (_, signal) => sleep(50, undefined, { signal }),
    }),
  },
);
provider.acceptRedirectsTo(server.url);
provider.accounts.ada = { name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true };
const { organizationId } = server.operator;

const operate = async (method: 'GET' | 'POST', url: string, payload?: object) => {
  const answer = await server.call(method, `/api/v1${url}`, {
    token: await server.token(),
    ...(payload && { payload }),
  });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
  return answer.json;
};
const { connectionId } = await operate('POST', `/organizations/${organizationId}/connections`, {
  name: 'Company',
  issuer: provider.issuer,
  clientId: provider.clientId,
  clientSecret: provider.clientSecret,
});
const signIn = (returnTo: string) =>
  `${server.url}/console/api/oidc/start?${new URLSearchParams({ connectionId, returnTo })}`;

browserTest('a payment of 120 EUR: asked, seen, approved, paid once; 121 EUR is refused', async (t) => {
  const own = await server.agent({ allowedScopes: ['tokens:read'] });
  const { start } = guidePrograms('approvals', {
    ISSUER: server.url,
    ORGANIZATION_ID: organizationId,
    CLIENT_ID: own.clientId,
    CLIENT_SECRET: own.clientSecret,
  });
  const api = await start('payments-api.mjs');
  await operate('POST', '/resources', {
    ...resourceOf('ask-before-acting.md', api),
    peopleScopes: ['payments:create'],
  });

  const page = await server.open(t, '/sign-in', {
    as: null,
    allow: [new RegExp(`^foreign: ${provider.issuer}/`)],
  });
  await page.goto(signIn('/console/approvals'));
  await page.getByLabel('Login').fill('ada');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();

  const { agentId, clientId, clientSecret } = await server.agent({ allowedScopes: [] });
  const { email } = await operate('GET', `/agents/${agentId}`);
  const client: Client = createClient({ issuer: server.url, clientId, auth: clientSecret });
  const invoice = { amount: 120, currency: 'EUR', creditor: 'Paper & Co' };
  const approval = await client.requestApproval({
    resource: api,
    scopes: 'payments:create',
    details: [{ type: 'payment', ...invoice }],
    loginHint: 'ada@example.com',
    message: 'Invoice 17 is due on Friday',
  });
  const token = approval.wait();

  // The open page learns of it.
  const row = page.getByRole('row').filter({ hasText: 'Invoice 17 is due on Friday' });
  await row.getByRole('link', { name: /^Decide/ }).click();
  await page.waitForURL(`**/console/approvals/${approval.approvalId}`);
  await page
    .getByText(`${email} asks for payments:create at Payments for 1 hour: “Invoice 17 is due on Friday”`)
    .waitFor();
  const action = page.getByRole('table').filter({ hasText: 'payment' });
  for (const [field, value] of Object.entries(invoice))
    await action
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name: field, exact: true }) })
      .getByRole('cell', { name: String(value), exact: true })
      .waitFor();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('button:not([aria-disabled])', { hasText: 'Approve' }).waitFor();
  await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('By you,').waitFor();

  const authorization = `Bearer ${await token}`;
  const pay = async (payment: object) => {
    const response = await fetch(`${api}/payments`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(payment),
    });
    return { status: response.status, json: (await response.json()) as { error?: string } };
  };
  const refused = await pay({ ...invoice, amount: 121 });
  assert.deepEqual([refused.status, refused.json.error], [403, 'insufficient_authorization_details']);
  const paid = await pay(invoice);
  const { decidedBy, chainId } = await operate('GET', `/approvals/${approval.approvalId}`);
  assert.deepEqual(
    [paid.status, paid.json],
    [201, { ...invoice, approvedBy: decidedBy, paidBy: agentId }],
    JSON.stringify(paid.json),
  );
  assert.equal((await pay(invoice)).status, 409);

  // The person sees it among the own agents, and ends it.
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'My agents' }).click();
  await page
    .getByRole('row')
    .filter({ hasText: email })
    .getByRole('button', { name: /^Revoke/ })
    .click();
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await until('the delegation has ended', async () =>
    (await operate('GET', `/delegations/${chainId}`)).status === 'revoked' ? true : undefined,
  );
  const { data } = await operate('GET', `/audit?action=approval.*&limit=10`);
  assert.deepEqual(
    data.map(({ action: name }: { action: string }) => name),
    ['approval.approved', 'approval.requested'],
  );
  await assert.rejects(approval.session.refresh());
});
