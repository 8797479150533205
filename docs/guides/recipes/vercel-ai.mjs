// An agent with the Vercel AI SDK that reads orders by itself, and asks a person before it refunds one.
// Install: the SDK (docs/guides/typescript-sdk.md), and npm install ai @ai-sdk/openai zod
import { ApprovalDenied, ApprovalExpired, createClient } from '@countersign/sdk';
import { generateText, isStepCount, tool } from 'ai';
import { z } from 'zod';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, AUDIENCE, PERSON } = process.env;
// client.fetch gets the agent's own token with the first call, caches it and renews it. The model never sees a token.
const client = createClient({
  issuer: ISSUER,
  clientId: CLIENT_ID,
  auth: CLIENT_SECRET,
  resources: [AUDIENCE],
});
/** What people have approved, by order and amount. */
const approved = new Map();

/** Tells the model, and the terminal, what the API has answered. */
async function tell(name, response) {
  const challenge = response.headers.get('www-authenticate') ?? '';
  const missing = / scope="([^"]*)"/.exec(challenge)?.[1];
  const { status } = response;
  const text = await response.text();
  const result = `${status} ${missing ? `insufficient_scope: needs ${missing}, ask a person` : text}`;
  console.log(`${name}: ${result}`);
  return result;
}

async function refund({ order, amount }) {
  const approval = approved.get(`${order} ${amount}`);
  approved.delete(`${order} ${amount}`);
  const headers = { 'content-type': 'application/json' };
  if (approval) headers.authorization = `Bearer ${await approval.token()}`;
  const request = { method: 'POST', headers, body: JSON.stringify({ amount }) };
  const url = `${AUDIENCE}/orders/${encodeURIComponent(order)}/refund`;
  const response = await (approval ? fetch(url, request) : client.fetch(url, request));
  const result = await tell('refund_order', response);
  // One approval, one refund: the rest of the five minutes is not needed.
  await approval?.session.end();
  return result;
}

async function ask({ order, amount, reason }) {
  const approval = await client.requestApproval({
    resource: AUDIENCE,
    scopes: 'orders:refund',
    details: [{ type: 'refund', order, amount }],
    loginHint: PERSON,
    message: reason,
    accessExpiresIn: 300,
  });
  console.log(`ask_person: ${ISSUER}/console/approvals/${approval.approvalId}`);
  try {
    await approval.wait();
  } catch (error) {
    if (!(error instanceof ApprovalDenied || error instanceof ApprovalExpired)) throw error;
    return `not approved: ${error.message}`;
  }
  approved.set(`${order} ${amount}`, approval);
  return 'approved: call refund_order again';
}

const oneRefund = { order: z.string(), amount: z.number().positive() };
const tools = {
  list_orders: tool({
    description: 'List the orders',
    inputSchema: z.object({}),
    execute: async () => tell('list_orders', await client.fetch(`${AUDIENCE}/orders`)),
  }),
  refund_order: tool({
    description: 'Refund an amount of an order',
    inputSchema: z.object(oneRefund),
    execute: refund,
  }),
  ask_person: tool({
    description: 'Ask a person to approve one refund, and wait for the answer',
    inputSchema: z.object({ ...oneRefund, reason: z.string().max(200) }),
    execute: ask,
  }),
};

export async function run(model) {
  const prompt = 'The parcel of the first order was lost. Refund it.';
  const { text } = await generateText({ model, tools, prompt, stopWhen: isStepCount(10) });
  console.log(text);
}

if (import.meta.main) {
  const { openai } = await import('@ai-sdk/openai');
  await run(openai(process.env.MODEL ?? 'gpt-5-mini'));
}
