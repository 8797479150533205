// An agent that reads orders by itself, and asks a person when the API wants more. Install: the SDK (docs/guides/typescript-sdk.md)
import { createClient } from '@countersign/sdk';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, AUDIENCE, PERSON } = process.env;
const client = createClient({
  issuer: ISSUER,
  clientId: CLIENT_ID,
  auth: CLIENT_SECRET,
  resources: [AUDIENCE],
});

/** The scope that the API asks for, if it has refused the token for want of it (RFC 6750). */
function missingScope(response) {
  const challenge = response.headers.get('www-authenticate') ?? '';
  const isRefused = response.status === 403 && challenge.includes('error="insufficient_scope"');
  return isRefused ? / scope="([^"]*)"/.exec(challenge)?.[1] : undefined;
}

async function refund(order, amount) {
  const url = `${AUDIENCE}/orders/${order}/refund`;
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount }),
  };
  const response = await client.fetch(url, request);
  const scopes = missingScope(response);
  if (scopes === undefined) return response;
  console.log(`refused: needs ${scopes}`);
  const approval = await client.requestApproval({
    resource: AUDIENCE,
    scopes,
    details: [{ type: 'refund', order, amount }],
    loginHint: PERSON,
    message: `The parcel of order ${order} was lost`,
    accessExpiresIn: 300,
  });
  console.log(`asked: ${ISSUER}/console/approvals/${approval.approvalId}`);
  const authorization = `Bearer ${await approval.wait()}`;
  return fetch(url, { ...request, headers: { ...request.headers, authorization } });
}

const [first] = await (await client.fetch(`${AUDIENCE}/orders`)).json();
const response = await refund(first.order, first.total);
console.log(response.status, await response.text());
