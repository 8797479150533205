/** Asking a person for an action, and waiting for the decision. */
import type { Approval } from '../../../../sdk/typescript/src/generated.ts';
import Type from '../../../contract/json-schema.ts';
import { limits } from '../../../contract/limits.ts';
import { tool } from '../tool.ts';

const defaultWaitSeconds = 25;
const maxWaitSeconds = 50;
const pollMs = limits.approval.pollSeconds * 1_000;

const ApprovalId = Type.String({ minLength: 36, maxLength: 36, description: 'The id of the approval.' });

const next: Readonly<Record<Approval['status'], string>> = {
  pending: 'Call wait_for_approval again, or come back later: it is not decided yet.',
  approved:
    'The program of the agent gets its token at the token endpoint, with the CIBA grant and this approvalId as auth_req_id. The token is not shown here.',
  denied: 'A person has refused. Do not ask for the same again unless something has changed.',
  expired: 'It was not decided in time. Ask again if it still matters.',
  canceled: 'The request was taken back.',
};

const shown = (approval: Approval) => ({ ...approval, whatNext: next[approval.status] });

export const requestApproval = tool({
  name: 'request_approval',
  title: 'Request an approval',
  description:
    'Asks a person to let this agent do something that it may not do by itself. The person sees the message, the API and the scopes, and decides in the console. Only with a token of the agent itself.',
  input: Type.Object({
    resource: Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: 'The identifier of the API, or our issuer.',
    }),
    scopes: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
      maxItems: limits.resource.maxScopes,
    }),
    person: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 320,
        description: 'The id or e-mail address of the person; without it, the approvers of the API.',
      }),
    ),
    message: Type.String({
      minLength: 1,
      maxLength: limits.approval.maxMessageLength,
      description: 'What the person reads.',
    }),
    details: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        maxItems: 10,
        description: 'The action itself (authorization_details, RFC 9396), of types that the API has.',
      }),
    ),
  }),
  operations: ['getApproval'],
  isReadOnly: false,
  async run({ resource, scopes, person = 'approvers', message, details }, { api, requestApproval: request }) {
    const approvalId = await request({
      resource,
      scope: scopes.join(' '),
      login_hint: person,
      binding_message: message,
      ...(details && { authorization_details: JSON.stringify(details) }),
    });
    return shown(await api.getApproval({ approvalId }));
  },
});

export const waitForApproval = tool({
  name: 'wait_for_approval',
  title: 'Wait for an approval',
  description: `Waits until a person has decided, at most ${maxWaitSeconds} seconds, and says how it stands.`,
  input: Type.Object({
    approvalId: ApprovalId,
    seconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: maxWaitSeconds, description: `${defaultWaitSeconds} by default.` }),
    ),
  }),
  operations: ['getApproval'],
  isReadOnly: true,
  async run({ approvalId, seconds = defaultWaitSeconds }, { api, sleep, endSignal }) {
    const signal = endSignal();
    for (let left = seconds * 1_000; ; left -= pollMs) {
      const approval = await api.getApproval({ approvalId });
      if (approval.status !== 'pending' || left <= 0 || signal.aborted) return shown(approval);
      await sleep(Math.min(pollMs, left), signal);
    }
  },
});
