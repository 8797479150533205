/** The console's own routes: session and ways to sign in. */
import { ApiError } from './api-error.ts';
import { sendJson } from './request.ts';

export interface Session {
  /** Null in the session of a member, who acts through no agent. */
  readonly agentId: string | null;
  readonly organizationId: string;
  readonly role: 'admin' | 'member' | 'viewer' | 'none';
  readonly scopes: readonly string[];
  readonly person: {
    readonly personId: string;
    readonly name: string;
    /** As the provider has verified it. */
    readonly email: string | null;
  } | null;
  /** The latest end; after half an hour without a request it ends earlier. */
  readonly expiresAt: string;
  /** The e-mail address of the agent. */
  readonly agentName: string | null;
  readonly organizationName: string;
  readonly organizationSlug: string;
  readonly planTier: string;
  readonly multiTenant: boolean;
  /** True on an instance of `npm start`. */
  readonly dev: boolean;
}

export interface SignInOptions {
  readonly oidc: { readonly issuer: string; readonly name: string } | null;
}

export type SignIn = { readonly clientId: string; readonly clientSecret: string } | { readonly code: string };

const path = '/console/api/session';

export interface SessionAnswer {
  /** Null: there is none. */
  readonly session: Session | null;
  /** Why the server does not know the cookie of this browser. */
  readonly hint?: string | undefined;
}

export async function fetchSession(signal?: AbortSignal): Promise<SessionAnswer> {
  try {
    return { session: (await sendJson('GET', path, undefined, { signal })) as Session };
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
    return { session: null, hint: error.details.cookie === 'unknown' ? error.message : undefined };
  }
}

export const signIn = (body: SignIn): Promise<unknown> => sendJson('POST', path, body);

export const signOut = (): Promise<unknown> => sendJson('DELETE', path);

export interface CommandLineCode {
  readonly code: string;
  readonly expiresIn: number;
}

/** A code with which the command line signs in, once. With a challenge, only the command that made the challenge can use it. */
export const createCommandLineCode = async (codeChallenge?: string): Promise<CommandLineCode> =>
  (await sendJson(
    'POST',
    '/console/api/command-line-codes',
    codeChallenge === undefined ? undefined : { codeChallenge },
  )) as CommandLineCode;

export const fetchSignInOptions = async (signal?: AbortSignal): Promise<SignInOptions> =>
  (await sendJson('GET', '/console/api/sign-in-options', undefined, { signal })) as SignInOptions;

/** Where the browser goes to sign in at the OpenID provider: that of a connection, or the instance's own. */
export const oidcStart = (returnTo: string, connectionId?: string): string =>
  `/console/api/oidc/start?${new URLSearchParams({ ...(connectionId !== undefined && { connectionId }), returnTo })}`;

/** The identity that the provider has confirmed to this browser, and the organizations that invited it. */
export interface ProviderIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly choices: readonly {
    readonly personId: string;
    readonly organizationId: string;
    readonly organizationName: string;
    readonly organizationSlug: string;
    /** The person has never signed in to it. */
    readonly firstVisit: boolean;
    readonly role: 'admin' | 'viewer' | 'member';
  }[];
}

export const fetchProviderIdentity = async (signal?: AbortSignal): Promise<ProviderIdentity> =>
  (await sendJson('GET', '/console/api/oidc/identity', undefined, { signal })) as ProviderIdentity;

export const chooseOrganization = (personId: string): Promise<unknown> =>
  sendJson('POST', '/console/api/oidc/identity', { personId });

export const declineInvitation = (personId: string): Promise<unknown> =>
  sendJson('DELETE', `/console/api/oidc/invitations/${encodeURIComponent(personId)}`);
