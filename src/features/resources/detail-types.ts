/** The details of an action that a request names (RFC 9396), by the types of a resource. */

import type { AuthorizationDetailType } from '../../contract/authorization-details.ts';
import {
  type DetailProblem,
  parseAuthorizationDetails,
  type ReadDetails,
} from '../../kernel/http/input/authorization-details.ts';
import { type SchemaObject, validate } from './detail-schemas/validate.ts';

export { type DetailProblem, describeProblem } from '../../kernel/http/input/authorization-details.ts';

/** Each has a type of the resource and is valid by its schema. */
export function readAuthorizationDetails(
  text: string,
  types: readonly AuthorizationDetailType[],
): ReadDetails {
  const read = parseAuthorizationDetails(text);
  if ('problem' in read) return read;
  for (const [index, detail] of read.details.entries()) {
    const type = types.find((each) => each.type === detail.type);
    const problem: DetailProblem | undefined = type
      ? validate(type.schema as SchemaObject, detail, `/${index}`)
      : { pointer: `/${index}/type`, message: 'is no type of the API' };
    if (problem) return { problem };
  }
  return read;
}
