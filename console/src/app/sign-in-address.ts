/** What the address says about a sign-in: the code of a one-time link, or the way back from the OpenID provider. */

const signInPath = '/console/sign-in';
const firstPage = '/console';

/** The code of a one-time link (`#code=…`). It is read once: reload and "back" must not use a spent code. */
export function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code') ?? undefined;
  if (code) history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}

/** The page to show after the sign-in: only one of the console. */
export function placeAfterSignIn(): string {
  if (location.pathname !== signInPath) return location.pathname + location.search;
  const wanted = new URLSearchParams(location.search).get('returnTo') ?? firstPage;
  return /^\/console(?:[/?][^\\]*)?$/.test(wanted) && !wanted.startsWith(signInPath) ? wanted : firstPage;
}

export interface ProviderReturn {
  /** One of the words of `providerErrors`. */
  readonly error?: string | undefined;
  readonly requestId?: string | undefined;
  /** The person was invited to several organizations. */
  readonly choose: boolean;
}

/** With what the server sent the browser back from the OpenID provider. */
export function providerReturn(): ProviderReturn {
  if (location.pathname !== signInPath) return { choose: false };
  const query = new URLSearchParams(location.search);
  return {
    error: query.get('error') ?? undefined,
    requestId: query.get('requestId') ?? undefined,
    choose: query.get('choose') === 'organization',
  };
}

export const providerErrors: Readonly<Record<string, string>> = {
  not_configured: 'No OpenID provider is configured on this instance.',
  provider_unavailable: 'The OpenID provider does not answer. Try again in a moment.',
  provider_refused: 'The OpenID provider refused the sign-in, or it was cancelled there.',
  invalid_answer: 'The answer of the OpenID provider could not be verified. Begin again.',
  sign_in_expired: 'The sign-in took too long, or was used already. Begin again.',
  not_invited: 'You were not invited to an organization of this instance.',
};
