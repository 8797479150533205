/** Checks the form of an endpoint's URL. Its IP address is checked at each connection, since DNS can change. */

import { validationError } from '../../../kernel/http/input/validation.ts';
import { urlProblem } from '../../../kernel/url-problem.ts';

export function requireEndpointUrl(url: string): void {
  const problem = urlProblem(url, { allowHttp: false, allowQuery: true });
  if (problem !== undefined) throw validationError('body', [{ in: 'body', field: 'url', message: problem }]);
}
