/** What the address says about a sign-in: the code of a one-time link, or the way back from the OpenID provider. */

const signInPath = '/console/sign-in';
const firstPage = '/console';
const approvalPath = '/console/approvals/';

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

/** The connection of an organization whose people were sent to the sign-in page, or by mail to the page of a request. */
export function connectionInAddress(): string | undefined {
  const id = new URLSearchParams(location.search).get('connectionId') ?? '';
  const isNamed = location.pathname === signInPath || location.pathname.startsWith(approvalPath);
  return isNamed && uuid.test(id) ? id : undefined;
}

export interface ProviderReturn {
  readonly error?: ProviderError | undefined;
  readonly requestId?: string | undefined;
  /** The person was invited to several organizations. */
  readonly choose: boolean;
}

/** With what the server sent the browser back from the OpenID provider. */
export function providerReturn(): ProviderReturn {
  if (location.pathname !== signInPath) return { choose: false };
  const query = new URLSearchParams(location.search);
  return {
    ...providerProblem(query.get('error') ?? '', query.get('requestId') ?? ''),
    choose: query.get('choose') === 'organization',
  };
}

/** Anyone can make an address: it chooses among our own sentences, and says nothing itself. */
export const providerProblem = (error = '', requestId = '') => ({
  error: isProviderError(error) ? error : undefined,
  requestId: uuid.test(requestId) ? requestId : undefined,
});

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const providerErrors = {
  not_configured: 'No OpenID provider is configured on this instance.',
  provider_unavailable: 'The OpenID provider does not answer. Try again in a moment.',
  provider_refused: 'The OpenID provider refused the sign-in, or it was cancelled there.',
  invalid_answer: 'The answer of the OpenID provider could not be verified. Begin again.',
  sign_in_expired: 'The sign-in took too long, or was used already. Begin again.',
  not_invited: 'You were not invited to an organization of this instance.',
  connection_unavailable: 'The organization does not accept sign-ins through this provider now.',
  conditions_not_met: 'Your account does not meet the conditions of the organization. Ask an administrator.',
  person_suspended: 'An administrator has suspended your access.',
  people_limit: 'The organization has the most people it can have. Ask an administrator.',
} as const;
type ProviderError = keyof typeof providerErrors;

/** Own keys: `__proto__` and `constructor` are no errors. */
const isProviderError = (word: string): word is ProviderError => Object.hasOwn(providerErrors, word);
