/** What a subscription may point at. Whether the address is a public one shows when it is connected to, and only then. */

import { validationError } from '../../kernel/http/input/validation.ts';
import { urlProblem } from '../../kernel/ports/external-tokens.ts';

export function refuseBadTarget(url: string): void {
  const problem = urlProblem(url, { allowHttp: false, allowQuery: true });
  if (problem !== undefined) throw validationError('body', [{ in: 'body', field: 'url', message: problem }]);
}
