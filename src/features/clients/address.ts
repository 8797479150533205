/** The address of a client's metadata document, which is the client's id. */

import { urlProblem } from '../../kernel/url-problem.ts';

const maxLength = 2_048;

export const isAddress = (clientId: string): boolean => clientId.startsWith('https://');

/** The problem with the address, for people to read; undefined for a valid one. */
export function addressProblem(address: string): string | undefined {
  if (address.length > maxLength) return `must have at most ${maxLength} characters`;
  const problem = urlProblem(address, { allowHttp: false, allowQuery: true });
  if (problem !== undefined) return problem;
  const [, path = ''] = /^https:\/\/[^/?]*([^?]*)/.exec(address) ?? [];
  if (path.length < 2) return 'must have a path';
  // A URL parser would remove these segments, and fetch another document than the address names.
  return path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
    ? 'must not have the path segments . or ..'
    : undefined;
}

/** The host of a valid address, without its port: the one fact about a client that a client cannot invent. */
export const hostOf = (address: string): string => new URL(address).hostname.replace(/\.$/, '');
