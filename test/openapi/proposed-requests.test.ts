/**
 * Every request that the reference page proposes succeeds as it stands: the path, the parameters that the page sends, and the example
 * of the body. Only ids, secrets and tokens are replaced, by those of objects that exist. A new operation needs an example that works;
 * if it needs the id of a new kind of object, add to `gives` where that id comes from.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAgent, startApp } from '../support/harness.ts';
import { createPaymentEvents } from '../support/peers/payment-events.ts';
import { newLogKey } from '../support/peers/witnesses.ts';
import { send } from '../support/principals.ts';
import { createTenant } from '../support/scenarios/plans.ts';

/** Operations whose proposal is refused, with the reason. An entry that is no longer needed fails the test. */
const exceptions: Readonly<Record<string, { answer: string; reason: string }>> = {
  getAuditArchive: {
    answer: '404 ARCHIVE_NOT_FOUND',
    reason: 'No day of the log is over.',
  },
  exchangeOutsideToken: {
    answer: '400 invalid_grant',
    reason: 'Only another issuer can sign such a token, and it would expire.',
  },
  acceptShare: {
    answer: '404 SHARE_NOT_FOUND',
    reason: 'Only another organization can offer a share.',
  },
  declineShare: {
    answer: '404 SHARE_NOT_FOUND',
    reason: 'Only another organization can offer a share.',
  },
  forwardAuth: {
    answer: '401 UNAUTHORIZED',
    reason: 'It needs a token for the API of the address; that of the page is for our own.',
  },
  receiveBillingEvent: {
    answer: '400 VALIDATION_ERROR',
    reason: 'Only the payment provider can sign an event, and the signature is valid for five minutes.',
  },
};

type Values = Readonly<Record<string, string>>;
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: 'path' | 'query' | 'header';
    readonly required?: boolean;
    readonly examples?: Readonly<Record<string, { value: unknown; 'x-disabled'?: boolean }>>;
  }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example?: Record<string, unknown> }>>;
  };
}
interface Proposal {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly operation: Operation;
}

const t = await startApp({ BASE_URL: 'http://countersign.localhost', AUDIT_LOG_KEY: newLogKey() });
const token = await t.token();
await t.app.audit.linkAll();
await t.app.instanceLog.grow();
/** The organization of the operator has the highest plan. An admin of another one orders a higher plan. */
const orders = ['upgradeTier', 'startCheckout'];
const { paths } = (await t.call('GET', '/openapi.json')).json as {
  paths: Record<string, Record<string, Operation>>;
};

/** Objects are created before they are read and changed. They are deleted last, inner ones first. */
const order: readonly Method[] = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'];
const proposals = Object.entries(paths)
  .flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]): Proposal => ({
        id: operation.operationId,
        method: method.toUpperCase() as Method,
        path,
        operation,
      }),
    ),
  )
  .sort(
    (a, b) =>
      order.indexOf(a.method) - order.indexOf(b.method) ||
      (a.method === 'DELETE' ? b.path.length - a.path.length : 0),
  );

const asOperator = async (method: Method, url: string, payload: object) => {
  const answer = await t.call(method, `/api/v1${url}`, { token, payload });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
  return answer.json;
};

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape; a missing id fails the request that needs it
type Gives = (answer: any) => Values | Promise<Values>;
/** The ids that later requests need, from the answers of these operations. */
const gives: Readonly<Record<string, Gives>> = {
  createAgent: ({ agentId }) => ({ agentId }),
  createOrganization: ({ organizationId }) => ({ organizationId }),
  generateCredential: ({ credentialId, clientId, clientSecret }) => ({
    credentialId,
    client_id: clientId,
    client_secret: clientSecret,
  }),
  rotateCredential: ({ clientSecret }) => ({ client_secret: clientSecret }),
  invitePerson: ({ personId }) => ({ personId }),
  createConnection: ({ connectionId }) => ({ connectionId }),
  createResource: ({ resourceId }) => ({ resourceId }),
  requestApproval: ({ approval_id: approvalId }) => ({ approvalId }),
  createDelegation: ({ chainId, delegationToken }) => ({ chainId, delegationToken }),
  createWebhook: ({ id }) => ({ webhookId: id }),
  listWebhookDeliveries: ({ deliveries: [{ id }] }) => ({ deliveryId: id }),
  trustPartner: ({ id }) => ({ partnerId: id }),
  createTrustPolicy: ({ policyId }) => ({ policyId }),
  createSignalStream: ({ stream_id }) => ({ streamId: stream_id, stream_id }),
  async createListing({ listingId }) {
    await asOperator('PATCH', `/marketplace/listings/${listingId}`, { status: 'published' });
    return { listingId };
  },
  listAuditEvents: ({ data: [{ eventId }] }) => ({ eventId }),
};

/** Names under which `known` has the value of a parameter or field, where they differ from its own. */
function valueName({ id, path }: Proposal, name: string): string {
  if (name === 'id') return path.includes('/webhooks/') ? 'webhookId' : 'partnerId';
  // The operator's own organization cannot be deleted.
  if (name === 'orgId' && id === 'deleteOrganization') return 'organizationId';
  if (name === 'token' && id === 'verifyDelegation') return 'delegationToken';
  if (name === 'login_hint') return 'personId';
  if (name === 'resource' && id === 'requestApproval') return 'issuer';
  return name;
}

/** Fields of bodies that name an existing object. */
const bodyIds = ['agentId', 'delegateeId', 'client_id', 'client_secret', 'stream_id'];

const bodyOf = ({ operation }: Proposal) => Object.entries(operation.requestBody?.content ?? {})[0];

function neededIds(proposal: Proposal): string[] {
  const inPath = [...proposal.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const inBody = Object.keys(bodyOf(proposal)?.[1].example ?? {}).filter(
    (name) => bodyIds.includes(name) || valueName(proposal, name) !== name,
  );
  return [...inPath, ...inBody];
}

/** The page sends required parameters, and those with an example that is not marked. */
function queryOf({ operation }: Proposal, knownValue: (name: string) => string): string {
  const sent = (operation.parameters ?? []).flatMap(({ name, in: part, required, examples = {} }) => {
    const [example] = Object.values(examples);
    if (part !== 'query' || (!required && (!example || example['x-disabled']))) return [];
    return [[name, bodyIds.includes(name) && required ? knownValue(name) : String(example?.value ?? '')]];
  });
  return sent.length > 0 ? `?${new URLSearchParams(sent)}` : '';
}

async function sendProposal(proposal: Proposal, known: Values, as: string) {
  const knownValue = (name: string) => known[valueName(proposal, name)] ?? '';
  const ids = neededIds(proposal);
  const [type, media] = bodyOf(proposal) ?? [];
  const body =
    media?.example &&
    Object.fromEntries(
      Object.entries(media.example).map(([name, value]) => [
        name,
        ids.includes(name) ? knownValue(name) : value,
      ]),
    );
  const url =
    proposal.path.replaceAll(/\{(\w+)\}/g, (_, name) => knownValue(name)) + queryOf(proposal, knownValue);
  const { method } = proposal;
  return send(
    t,
    {
      ...{ method, url },
      ...(body && (type === 'application/json' ? { payload: body } : { form: body as Values })),
      ...(proposal.id === 'streamEvents' && { stream: true as const }),
    },
    as,
  );
}

async function freeAdmin(): Promise<string> {
  const tenant = await createTenant(t);
  const { agentId, organizationId } = tenant;
  await asOperator('POST', `/organizations/${organizationId}/members`, { agentId, role: 'admin' });
  return tenant.token;
}

/** For the operations on the subscription of the operator's organization. */
async function subscribe(): Promise<void> {
  const events = await createPaymentEvents(t.clock);
  const { body, signature } = await events.about(t.operator.organizationId, { tier: 'enterprise' });
  const { status, text } = await t.call('POST', '/api/v1/billing/webhooks/stripe', {
    payload: body,
    headers: { 'content-type': 'application/json', 'stripe-signature': signature },
  });
  assert.equal(status, 200, text);
}

test('2xx or 3xx for every request that the reference page proposes', async () => {
  await subscribe();
  const admin = await freeAdmin();
  let known: Values = {
    issuer: 'http://countersign.localhost',
    date: '2030-01-31',
    orgId: t.operator.organizationId,
    delegateeId: (await asOperator('POST', '/agents', newAgent())).agentId,
  };
  const problems: string[] = [];
  const waiting = [...proposals];
  while (waiting.length > 0) {
    const next = waiting.findIndex((proposal) =>
      neededIds(proposal).every((name) => valueName(proposal, name) in known),
    );
    assert.ok(next >= 0, `no id for ${waiting.map(({ id }) => id).join(', ')}: see \`gives\``);
    const [proposal] = waiting.splice(next, 1) as [Proposal];
    const { id, method, path } = proposal;
    const { status, text } = await sendProposal(proposal, known, orders.includes(id) ? admin : token);
    const code = status < 400 ? '' : (JSON.parse(text).code ?? JSON.parse(text).error);
    const answer = status < 400 ? String(status) : `${status} ${code}`;
    const exception = exceptions[id];
    if (exception ? answer !== exception.answer : status >= 400)
      problems.push(`${method} ${path} (${id}): ${answer} ${text.slice(0, 300)}`);
    if (status < 300 && gives[id]) known = { ...known, ...(await gives[id](JSON.parse(text))) };
  }
  assert.deepEqual(problems, []);
  const ids = proposals.map(({ id }) => id);
  for (const id of [...orders, ...Object.keys({ ...exceptions, ...gives })])
    assert.ok(ids.includes(id), `there is no operation ${id}`);
});
