// An agent that may do nothing by itself, and asks before each payment. Install: the SDK (docs/guides/typescript-sdk.md)
import { ApprovalDenied, ApprovalExpired, createClient } from '@countersign/sdk';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, AUDIENCE } = process.env;
const client = createClient({ issuer: ISSUER, clientId: CLIENT_ID, auth: CLIENT_SECRET });

/** Asks the approvers of the API, waits, and pays exactly what they approved. */
async function pay(payment, reason) {
  const approval = await client.requestApproval({
    resource: AUDIENCE,
    scopes: 'payments:create',
    details: [{ type: 'payment', ...payment }],
    loginHint: 'approvers',
    message: reason,
    // Long enough for one payment.
    accessExpiresIn: 300,
  });
  console.log(`asked: ${ISSUER}/console/approvals/${approval.approvalId}`);
  const token = await approval.wait();
  const response = await fetch(`${AUDIENCE}/payments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(payment),
  });
  // The rest of the five minutes is not needed.
  await approval.session.end();
  return `${response.status} ${await response.text()}`;
}

try {
  const invoice = { amount: 120, currency: 'EUR', creditor: 'Paper & Co' };
  console.log(await pay(invoice, 'Invoice 17 is due on Friday'));
} catch (error) {
  // There was no yes: the agent goes on without it.
  if (!(error instanceof ApprovalDenied || error instanceof ApprovalExpired)) throw error;
  console.log(`not paid: ${error.message}`);
}
