/** The routes of the consent page: the request of a client, the ways to sign in for it, and the decision. */
import type { AuthorizationDetails } from './approvals.ts';
import { sendJson } from './request.ts';

export interface ConsentQuestion {
  readonly requestId: string;
  readonly client: {
    readonly agentId: string | null;
    readonly clientId: string;
    readonly name: string;
    /** Of the client's document; null for a registered client. */
    readonly host: string | null;
    readonly redirectHost: string;
    /** An administrator has registered it. */
    readonly registered: boolean;
  };
  readonly resource: { readonly identifier: string; readonly name: string };
  readonly person: { readonly personId: string; readonly name: string; readonly email: string | null };
  readonly scopes: readonly { readonly name: string; readonly description: string | null }[];
  /** Exactly these actions; null: the scopes alone say it. */
  readonly authorizationDetails: AuthorizationDetails | null;
  readonly expiresAt: string;
}

/** For a browser without a session. */
export interface SignInChoice {
  readonly requestId: string;
  readonly organizationNeeded: boolean;
  readonly connections: readonly { readonly connectionId: string; readonly name: string }[];
  /** Through the instance's own OpenID provider. */
  readonly instance: boolean;
  readonly client: { readonly name: string; readonly host: string | null };
  readonly resource: { readonly name: string };
}

export type Decision =
  | { readonly decision: 'deny' }
  | {
      readonly decision: 'approve';
      readonly scopes: readonly string[];
      readonly expiresIn: number;
      readonly allowRedelegation: boolean;
    };

const pathOf = (requestId: string): string =>
  `/console/api/authorization-requests/${encodeURIComponent(requestId)}`;

export const fetchQuestion = async (requestId: string, signal?: AbortSignal): Promise<ConsentQuestion> =>
  (await sendJson('GET', pathOf(requestId), undefined, { signal })) as ConsentQuestion;

export const fetchSignInChoice = async (requestId: string, signal?: AbortSignal): Promise<SignInChoice> =>
  (await sendJson('GET', `${pathOf(requestId)}/sign-in`, undefined, { signal })) as SignInChoice;

/** By the short name of the organization. */
export const chooseRequestOrganization = async (
  requestId: string,
  organization: string,
): Promise<SignInChoice> =>
  (await sendJson('POST', `${pathOf(requestId)}/sign-in`, { organization })) as SignInChoice;

/** The address of the client that the browser goes to. */
export const decide = async (requestId: string, decision: Decision): Promise<string> =>
  ((await sendJson('POST', pathOf(requestId), decision)) as { redirectTo: string }).redirectTo;
