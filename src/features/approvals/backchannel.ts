/** The backchannel authentication endpoint (CIBA Core §7): an agent asks a person, and gets an id to poll with. */

import { limits } from '../../contract/limits.ts';
import { delegableScopes } from '../../contract/scopes.ts';
import { equivalentUris } from '../../kernel/audience.ts';
import type { Caller, Origin } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { lockRows } from '../../kernel/data/locks.ts';
import { fail, failToken, TokenError } from '../../kernel/fail.ts';
import type { Identity, TokenRefusal } from '../../kernel/http/access/identity.ts';
import { describeProblem } from '../../kernel/http/input/authorization-details.ts';
import type { CountAgainst } from '../../kernel/http/route.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import { approvalUrl, eventSubject } from './approval.ts';
import { type ApprovalPolicy, findApprovalPolicy } from './approval-policy-slice.ts';
import {
  type LoginHint,
  type RequestedApproval,
  readBackchannelRequest,
  unknownResource,
} from './backchannel-request.ts';
import { findApprovers, findByLoginHint } from './deciders-store.ts';
import type { ApprovalDeps } from './feature.ts';
import type { BackchannelAnswer, BackchannelRequest } from './schema.ts';
import { countOpen, insertApproval, type NewApproval } from './store.ts';

interface BackchannelHttpRequest {
  readonly form: BackchannelRequest;
  readonly authorization: string | undefined;
  readonly origin: Origin;
  readonly countAgainst: CountAgainst;
}

export interface BackchannelAuthentication {
  request(request: BackchannelHttpRequest): Promise<BackchannelAnswer>;
  /**
   * For an agent that has shown its own access token. Returns the id of the approval, which is the `auth_req_id` too: it is no secret, and the
   * token endpoint takes it with the credentials of the agent only.
   */
  requestAs(caller: Caller, form: BackchannelRequest): Promise<string>;
}

/** Secret scanners search for this prefix. */
const authReqPrefix = 'car_';

/** The same for a person who does not exist, is suspended or of another organization, and when there are no approvers. */
const unknownPerson = 'login_hint means no person of your organization who can decide';

type Client = Pick<Identity, 'agentId' | 'organizationId'>;

interface Target {
  readonly audience: string;
  readonly resourceId: string | null;
  readonly scopes: readonly string[];
}

export function createBackchannelAuthentication(deps: ApprovalDeps): BackchannelAuthentication {
  const { db, clock, ids, ledger, issuer, vault, lockAgents, findLendingTarget, notifications } = deps;
  const { readAuthorizationDetails, recordRefusal } = deps;

  const authenticate = async ({ form, authorization, origin, countAgainst }: BackchannelHttpRequest) => {
    const client = await deps.authenticateClient(form, authorization, countAgainst);
    if (!client) {
      await countAgainst('address');
      return refuseWithoutProof(form);
    }
    if (isRefusal(client)) {
      const { organizationId, agentId, reason } = client;
      const metadata = { reason, operation: 'requestApproval' };
      await recordRefusal({
        actor: origin,
        type: 'authentication.refused',
        subject: { organizationId, agentId, outcome: 'failure', metadata },
      });
      return failToken('invalid_client', reason);
    }
    const { agentId, organizationId, rateLimitPerMinute } = client;
    await countAgainst({ clientId: agentId, organizationId, rateLimitPerMinute });
    if (client.organizationStatus !== 'active')
      refuseClient(`the organization is ${client.organizationStatus}`);
    return client;
  };

  /** A public client cannot prove that it asks. */
  const refuseWithoutProof = async ({ client_id: clientId }: BackchannelRequest): Promise<never> =>
    clientId !== undefined && (await deps.isPublicClient(db, clientId))
      ? refuseClient('public clients cannot ask for approvals')
      : failToken(
          'invalid_client',
          'the client must authenticate: by HTTP Basic, a secret in the body, or an assertion',
        );

  const findTarget = async (
    tx: Queryable,
    organizationId: string,
    { audience, scopes, authorizationDetails: text }: RequestedApproval,
  ) => {
    if (audience === issuer) {
      if (text !== undefined)
        failToken('invalid_authorization_details', 'our own API has no types of authorization details');
      requireKnown(scopes, delegableScopes);
      return { target: { audience, resourceId: null, scopes }, details: null };
    }
    for (const spelling of equivalentUris(audience)) {
      const found = await findLendingTarget(tx, spelling, organizationId);
      if (!found?.organizationIds.includes(organizationId)) continue;
      requireKnown(
        scopes,
        found.scopes.map(({ name }) => name),
      );
      const read =
        text === undefined
          ? { details: null }
          : readAuthorizationDetails(text, found.authorizationDetailTypes);
      if ('problem' in read) return failToken('invalid_authorization_details', describeProblem(read.problem));
      const target: Target = { audience: found.identifier, resourceId: found.resourceId, scopes };
      return { target, details: read.details };
    }
    return failToken('invalid_target', unknownResource);
  };

  /** The people who may decide; the `personId` is null when the hint means all approvers. */
  const findDeciders = async (
    tx: Queryable,
    organizationId: string,
    hint: LoginHint,
    resourceId: string | null,
  ): Promise<{ personId: string | null; personIds: readonly string[] }> => {
    if ('approvers' in hint) {
      const personIds = await findApprovers(tx, organizationId, resourceId);
      return personIds.length === 0
        ? failToken('unknown_user_id', unknownPerson)
        : { personId: null, personIds };
    }
    const personId = await findByLoginHint(tx, organizationId, hint);
    return personId === undefined
      ? failToken('unknown_user_id', unknownPerson)
      : { personId, personIds: [personId] };
  };

  const requireRoom = async (tx: Tx, { organizationId, agentId }: Client) => {
    // Of concurrent requests for the last place exactly one succeeds.
    await lockRows(tx, 'approvalsOfOrganization', [organizationId], 'exclusive');
    const open = await countOpen(tx, organizationId, agentId, new Date(clock.now()));
    const { openPerAgent, openPerOrganization } = limits.approval;
    if (open.ofAgent >= openPerAgent)
      fail('APPROVAL_LIMIT_EXCEEDED', {
        message: `An agent may have ${openPerAgent} open requests: wait until some are decided, or cancel some.`,
      });
    if (open.ofOrganization >= openPerOrganization)
      fail('APPROVAL_LIMIT_EXCEEDED', {
        message: `An organization may have ${openPerOrganization} open requests: wait until some are decided.`,
      });
  };

  const accessSeconds = ({ maxAccessSeconds }: ApprovalPolicy, requested: number | undefined) => {
    if (requested !== undefined && requested > maxAccessSeconds)
      failToken(
        'invalid_request',
        `access_expires_in: your organization allows at most ${maxAccessSeconds} seconds`,
      );
    return requested ?? Math.min(limits.approval.defaultAccessSeconds, maxAccessSeconds);
  };

  const ask = async (
    tx: Tx,
    client: Client,
    wanted: RequestedApproval,
    origin: Origin,
    approvalId = ids.uuid(),
    authReqId = ids.secret(authReqPrefix),
  ): Promise<BackchannelAnswer> => {
    const { agentId, organizationId } = client;
    const agent = (await lockAgents(tx, [agentId])).get(agentId);
    if (agent?.status !== 'active') return refuseClient(`the agent is ${agent?.status ?? 'unknown'}`);
    const { target, details } = await findTarget(tx, organizationId, wanted);
    const { personId, personIds } = await findDeciders(tx, organizationId, wanted.hint, target.resourceId);
    const { notificationToken: token } = wanted;
    if (token !== undefined && agent.notificationUri === null)
      failToken('invalid_request', 'client_notification_token needs a notificationUri of the agent');
    await requireRoom(tx, client);
    const policy = await findApprovalPolicy(tx, organizationId);
    const now = clock.now();
    const approval: NewApproval = {
      ...target,
      scopes: [...target.scopes],
      approvalId,
      authReqHash: hashSecret(authReqId),
      organizationId,
      agentId,
      authorizationDetails: details,
      bindingMessage: wanted.bindingMessage,
      personId,
      accessExpiresIn: accessSeconds(policy, wanted.accessSeconds),
      ping: token === undefined ? null : vault.seal(JSON.stringify({ authReqId, token }), approvalId),
      pollSeconds: limits.approval.pollSeconds,
      createdAt: isoTime(clock),
      expiresAt: new Date(now + wanted.expirySeconds * 1_000).toISOString(),
    };
    await insertApproval(tx, approval);
    await ledger.record(
      tx,
      { ...origin, agentId },
      'approval.requested',
      eventSubject(approval, { status: 'pending', url: approvalUrl(issuer, approvalId) }),
    );
    // Where two people must approve, the second is an approver.
    const needsTwo = equivalentUris(target.audience).some((uri) => policy.requireTwo.includes(uri));
    const approvers = needsTwo ? await findApprovers(tx, organizationId, target.resourceId) : [];
    await notifications.requested(tx, approval, [...new Set([...personIds, ...approvers])]);
    return {
      auth_req_id: authReqId,
      approval_id: approvalId,
      expires_in: wanted.expirySeconds,
      interval: limits.approval.pollSeconds,
    };
  };

  const request = async (given: BackchannelHttpRequest) => {
    const { form, authorization, origin, countAgainst } = given;
    const external = deps.findExternalAssertion(form, authorization);
    if (external) {
      const agentId = form.client_id;
      const assertion = {
        ...external,
        agentId,
        scope: undefined,
        origin,
        agentsToLock: async () => [],
        countAgainst,
      };
      return deps.authenticateWorkload(assertion, (tx, client) =>
        ask(tx, client, readBackchannelRequest(form, issuer), origin),
      );
    }
    const client = await authenticate(given);
    const wanted = readBackchannelRequest(form, issuer);
    return db.transaction((tx) => ask(tx, client, wanted, origin));
  };

  return {
    request,
    async requestAs(caller, form) {
      const { agentId, organizationId, delegation } = caller;
      if (delegation) {
        const metadata = { operation: 'requestApproval', reason: 'delegated token' };
        await recordRefusal({
          actor: caller,
          type: 'policy.refused',
          subject: { agentId, organizationId, outcome: 'failure', metadata },
        });
        refuseClient('a delegated token cannot ask for approvals: use a token of the agent itself');
      }
      const wanted = readBackchannelRequest(form, issuer);
      const approvalId = ids.uuid();
      await db.transaction((tx) => ask(tx, caller, wanted, caller, approvalId, approvalId));
      return approvalId;
    },
  };
}

const isRefusal = (client: Identity | TokenRefusal): client is TokenRefusal => 'reason' in client;

/** At this endpoint with 400, unlike at the token endpoint. */
const refuseClient = (description: string): never => {
  throw new TokenError('unauthorized_client', description, description, {}, 400);
};

function requireKnown(scopes: readonly string[], known: readonly string[]): void {
  const unknown = scopes.filter((scope) => !known.includes(scope));
  if (unknown.length > 0)
    failToken(
      'invalid_scope',
      `the API has no scope ${unknown.join(' ')}; it has ${known.join(' ') || 'none'}`,
    );
}
