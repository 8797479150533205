// An agent asks a person for one payment. Install: the SDK (docs/guides/typescript-sdk.md)
import { ApprovalDenied, createClient } from '@countersign/sdk';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, AUDIENCE, PERSON } = process.env;
const client = createClient({ issuer: ISSUER, clientId: CLIENT_ID, auth: CLIENT_SECRET });

const approval = await client.requestApproval({
  resource: AUDIENCE,
  scopes: 'payments:create',
  details: [{ type: 'payment', amount: 120, currency: 'EUR', creditor: 'Paper & Co' }],
  loginHint: PERSON,
  message: 'Invoice 17 is due on Friday',
});
console.log(`Decide here: ${ISSUER}/console/approvals/${approval.approvalId}`);
try {
  await approval.wait();
  const tokens = await approval.session.tokens();
  console.log(`approved: ${tokens?.scope} ${JSON.stringify(tokens?.authorizationDetails)}`);
} catch (error) {
  if (!(error instanceof ApprovalDenied)) throw error;
  console.log('denied');
}
