/**
 * An agent asks a person for access (OpenID CIBA). The program polls at the pace that the server sets, until a person decides or the
 * request lapses. A ping of the server, which `handlePing` takes, makes it poll at once.
 */
import type { TokenRequests } from './authentication.ts';
import { readToken } from './authentication.ts';
import type { Dpop } from './dpop.ts';
import {
  ApiError,
  ApprovalCanceled,
  ApprovalDenied,
  ApprovalError,
  ApprovalExpired,
  ConnectionError,
} from './errors.ts';
import { createSession, type PersonSession, personTokens } from './person-session.ts';
import { type Platform, unlessAborted } from './platform.ts';
import { eitherOf } from './request-loop.ts';
import { originOf, readFields } from './response.ts';
import { readScope, type Scopes } from './scope.ts';
import { isTemporary } from './token-cache.ts';
import type { AuthorizationDetail } from './verify/access-token.ts';
import { readBearerToken } from './verify/bearer.ts';
import type { WebhookHeaders } from './webhook.ts';

export interface ApprovalOptions {
  /** The identifier of the API that the agent will call, or the issuer. */
  readonly resource: string;
  /** Scopes of the API, as a list or with spaces between them. Not needed if `details` say it all. */
  readonly scopes?: Scopes | undefined;
  /** What exactly the agent wants to do, of types that the API describes: `[{ type: 'payment', amount: 120 }]`. */
  readonly details?: readonly AuthorizationDetail[] | undefined;
  /** Who decides: the id of a person, their verified e-mail address, or `approvers` for the approvers of the API. */
  readonly loginHint: string;
  /** Shown to the person: at most 200 characters. */
  readonly message?: string | undefined;
  /** Seconds until the request lapses. 600 by default. */
  readonly expiresIn?: number | undefined;
  /** How many seconds the access is to last. 3600 by default. */
  readonly accessExpiresIn?: number | undefined;
  /** For ping: the server sends it to the agent's `notificationUri` when the request is decided. Choose a random one for each request. */
  readonly notificationToken?: string | undefined;
}

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called after each answer that there is no decision yet. */
  readonly onPending?: (() => void) | undefined;
}

export interface Approval {
  readonly approvalId: string;
  readonly authReqId: string;
  /** Seconds from the request until it lapses. */
  readonly expiresIn: number;
  /**
   * The access token, once a person has approved. Throws ApprovalDenied, ApprovalExpired or ApprovalCanceled. After another error, such as
   * that of `signal`, it can be called again.
   */
  wait(options?: WaitOptions): Promise<string>;
  /** After `wait`: a good access token, which is refreshed while the access lasts. */
  token(): Promise<string>;
  /** After `wait`: the granted scopes and details, `refresh` after a 401, and `end` when the work is done. */
  readonly session: Pick<PersonSession, 'tokens' | 'refresh' | 'end'>;
  /** Takes the request back. */
  cancel(): Promise<void>;
  /** Polls now: the program has learned in another way that the request is decided. */
  notified(): void;
}

/** What the receiver of a ping answers. */
export type PingStatus = 204 | 400 | 401;

export interface Approvals {
  request(options: ApprovalOptions, signal?: AbortSignal): Promise<Approval>;
  handlePing(body: unknown, headers: WebhookHeaders): Promise<PingStatus>;
}

interface ApprovalDeps {
  readonly issuer: string;
  readonly clientId: string;
  readonly dpop: Dpop | undefined;
  readonly platform: Platform;
  readonly tokens: TokenRequests;
  cancel(approvalId: string): Promise<void>;
}

/** The answer of the server to a request. */
interface Requested {
  readonly approvalId: string;
  readonly authReqId: string;
  readonly expiresIn: number;
  readonly interval: number;
}

const cibaGrant = 'urn:openid:params:grant-type:ciba';
const slowDownMs = 5_000;
const longestPauseMs = 60_000;
const maxAnswerBytes = 64 * 1024;

export function createApprovals(deps: ApprovalDeps): Approvals {
  const { platform, tokens } = deps;
  /** Requests with a notification token, by `auth_req_id`, until they lapse. */
  const pingable = new Map<string, { readonly token: string; readonly until: number; notified(): void }>();

  return {
    async request(options, signal) {
      const form = formOf(options);
      const requested = await tokens.post(
        { path: '/api/v1/bc-authorize', form, once: false, signal },
        readRequested,
      );
      const lapsesAt = platform.now() + requested.expiresIn * 1000;
      const approval = createApproval(deps, options.resource, requested, lapsesAt);
      for (const [id, { until }] of pingable) if (until <= platform.now()) pingable.delete(id);
      if (options.notificationToken !== undefined)
        pingable.set(requested.authReqId, {
          token: options.notificationToken,
          until: lapsesAt,
          notified: approval.notified,
        });
      return approval;
    },

    async handlePing(body, headers) {
      const authReqId = readPing(body);
      const presented = readBearer(headers);
      if (presented === undefined) return 401;
      if (authReqId === undefined) return 400;
      const waiting = pingable.get(authReqId);
      if (!(await isEqual(presented, waiting?.token ?? '')) || !waiting) return 401;
      waiting.notified();
      return 204;
    },
  };
}

function createApproval(
  { issuer, clientId, dpop, platform, tokens, cancel }: ApprovalDeps,
  resource: string,
  { approvalId, authReqId, expiresIn, interval }: Requested,
  lapsesAt: number,
): Approval {
  const key = { issuer, clientId, resource };
  const api = `${issuer}/api/v1`;
  const session = createSession(
    { ...key, platform, ...(dpop && { dpop }) },
    {
      prove: tokens.prove,
      server: { tokenEndpoint: `${api}/token`, revocationEndpoint: `${api}/token/revoke` },
      startAgain: 'call requestApproval, and wait for the decision',
    },
  );
  let intervalMs = interval * 1000;
  let nextPollAt = platform.now();
  let failures = 0;
  let isCanceled = false;
  let settled: { readonly error?: ApprovalError } | undefined;
  let flight: Promise<void> | undefined;
  /** Aborted to end the pause between two polls. */
  let pause = new AbortController();

  const wake = () => {
    nextPollAt = platform.now();
    const ended = pause;
    pause = new AbortController();
    ended.abort();
  };

  /** Settles the approval, or sets the time of the next poll. Throws errors that say nothing about the approval. */
  const poll = async (): Promise<void> => {
    const askedAt = platform.now();
    const form = { grant_type: cibaGrant, auth_req_id: authReqId };
    try {
      const issued = await tokens.post({ path: '/api/v1/token', form, once: true }, (response) =>
        readToken(response, dpop),
      );
      await session.save(personTokens(key, issued, askedAt));
      settled = {};
    } catch (error) {
      const code = error instanceof ApiError ? error.code : undefined;
      const isPending = code === 'authorization_pending' || code === 'slow_down';
      if (isPending) failures = 0;
      else if (isTemporary(error)) failures += 1;
      else if (error instanceof ApiError && error.status === 400) settled = { error: outcomeOf(error) };
      else throw error;
      if (settled) return;
      if (platform.now() >= lapsesAt) {
        // Without an answer, a person may have approved.
        if (!isPending) throw error;
        settled = { error: outcomeOf(error) };
      }
      if (code === 'slow_down') intervalMs += slowDownMs;
      const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      const backoff = failures > 1 ? Math.min(longestPauseMs, intervalMs * 2 ** (failures - 1)) : 0;
      nextPollAt = platform.now() + Math.max(intervalMs, asked, backoff);
    }
  };

  const outcomeOf = (error: unknown): ApprovalError => {
    const { code, message } = error as ApiError;
    if (code === 'access_denied' && isCanceled)
      return new ApprovalCanceled('canceled', approvalId, 'this program has canceled the request', error);
    if (code === 'access_denied')
      return new ApprovalDenied(code, approvalId, 'the request was denied or canceled', error);
    if (code === 'expired_token' || code === 'authorization_pending' || code === 'slow_down')
      return new ApprovalExpired('expired_token', approvalId, 'no decision in time: ask again', error);
    return new ApprovalError(code, approvalId, message, error);
  };

  const sleep = async (signal: AbortSignal | undefined) => {
    const milliseconds = Math.min(nextPollAt, lapsesAt) - platform.now();
    if (milliseconds <= 0) return;
    const either = signal ? eitherOf(signal, pause.signal) : pause.signal;
    await platform.sleep(milliseconds, either).catch((error: unknown) => {
      if (!either.aborted) throw error;
    });
    signal?.throwIfAborted();
  };

  return {
    approvalId,
    authReqId,
    expiresIn,
    session: { tokens: session.tokens, refresh: session.refresh, end: session.end },
    token: session.token,
    notified: wake,

    async wait({ signal, onPending } = {}) {
      signal?.throwIfAborted();
      for (let isFirst = true; !settled; isFirst = false) {
        if (!isFirst || platform.now() < nextPollAt) await sleep(signal);
        if (settled) break;
        // Callers that wait at the same time share the polls.
        flight ??= poll().finally(() => {
          flight = undefined;
        });
        await unlessAborted(signal, flight);
        if (!settled && failures === 0) onPending?.();
      }
      if (settled.error) throw settled.error;
      return session.token();
    },

    async cancel() {
      isCanceled = true;
      try {
        await cancel(approvalId);
      } catch (error) {
        isCanceled = false;
        throw error;
      }
      settled ??= {
        error: new ApprovalCanceled('canceled', approvalId, 'this program has canceled the request'),
      };
      wake();
    },
  };
}

function formOf(options: ApprovalOptions): Record<string, string> {
  const { resource, scopes, details, loginHint, message, expiresIn, accessExpiresIn, notificationToken } =
    options;
  for (const [name, value] of Object.entries({ resource, loginHint }))
    if (typeof value !== 'string' || value === '') throw new TypeError(`requestApproval needs ${name}`);
  if (scopes === undefined && !details?.length)
    throw new TypeError('requestApproval needs scopes, details, or both');
  const fields = {
    resource,
    scope: readScope(scopes),
    authorization_details: details && JSON.stringify(details),
    login_hint: loginHint,
    binding_message: message,
    requested_expiry: expiresIn,
    access_expires_in: accessExpiresIn,
    client_notification_token: notificationToken,
  };
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

async function readRequested(response: Response): Promise<Requested> {
  const answer = await readFields(response, maxAnswerBytes);
  const { auth_req_id, approval_id, expires_in, interval = 5 } = answer;
  if (
    typeof auth_req_id !== 'string' ||
    typeof approval_id !== 'string' ||
    typeof expires_in !== 'number' ||
    typeof interval !== 'number' ||
    !(expires_in > 0 && interval > 0)
  )
    throw new ConnectionError(
      'invalid_response',
      `${originOf(response)} sent no usable answer to a request for approval`,
    );
  return { authReqId: auth_req_id, approvalId: approval_id, expiresIn: expires_in, interval };
}

function readPing(body: unknown): string | undefined {
  try {
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body;
    const ping: { auth_req_id?: unknown } | null | undefined =
      typeof text === 'string' ? JSON.parse(text) : text;
    return typeof ping?.auth_req_id === 'string' ? ping.auth_req_id : undefined;
  } catch {
    return undefined;
  }
}

function readBearer(headers: WebhookHeaders): string | undefined {
  try {
    return readBearerToken({ headers });
  } catch {
    return undefined;
  }
}

/** In constant time: of equal length are the hashes. */
async function isEqual(one: string, other: string): Promise<boolean> {
  const hash = async (text: string) =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  const [left, right] = await Promise.all([hash(one), hash(other)]);
  return left.reduce((difference, byte, at) => difference | (byte ^ (right[at] ?? 0)), 0) === 0;
}
