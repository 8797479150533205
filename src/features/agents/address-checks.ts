/** Addresses in the fields of an agent, beyond what their schema says. */
import { clientEmailDomain } from '../../contract/identity.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import { redirectUriProblem } from '../../kernel/redirect-uri.ts';
import { urlProblem } from '../../kernel/url-problem.ts';

export const bodyError = (problems: readonly (readonly [field: string, message: string])[]) =>
  validationError(
    'body',
    problems.map(([field, message]): FieldProblem => ({ in: 'body', field, message })),
  );

export function refuseRedirectUris(uris: readonly string[] = []): void {
  const problems = uris.flatMap((uri, index) => {
    const problem = redirectUriProblem(uri);
    return problem === undefined ? [] : [[`redirectUris[${index}]`, problem] as const];
  });
  if (problems.length > 0) throw bodyError(problems);
}

/** The form only, as of a webhook's URL. The IP address is checked at each connection. */
export function refuseNotificationUri(uri: string | null = null): void {
  const problem = uri === null ? undefined : urlProblem(uri, { allowHttp: false, allowQuery: true });
  if (problem !== undefined) throw bodyError([['notificationUri', problem]]);
}

/** Addresses of agents that came by a document: a registered agent could imitate one. */
export function refuseClientEmail(email: string): void {
  if (email.toLowerCase().endsWith(`@${clientEmailDomain}`))
    throw bodyError([
      ['email', `must not end in @${clientEmailDomain}, which is for clients with a metadata document`],
    ]);
}
