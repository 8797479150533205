/** The details of an action that a request names (RFC 9396), by the types of a resource. */

import type {
  AuthorizationDetails,
  AuthorizationDetailType,
  NewAuthorizationDetailTypes,
} from '../../contract/authorization-details.ts';
import {
  type DetailProblem,
  parseAuthorizationDetails,
  type ReadDetails,
} from '../../kernel/http/input/authorization-details.ts';
import type { FieldProblem } from '../../kernel/http/input/validation.ts';
import { schemaProblem } from './detail-schemas/schema-problem.ts';
import { newBudget, type SchemaObject, validate } from './detail-schemas/validate.ts';

/** Each has a type of the resource and is valid by its schema. */
export function readAuthorizationDetails(
  text: string,
  types: readonly AuthorizationDetailType[],
): ReadDetails {
  const read = parseAuthorizationDetails(text);
  const problem = 'details' in read ? detailsProblem(read.details, types) : undefined;
  return problem ? { problem } : read;
}

/** Of details whose shape is known. */
export function detailsProblem(
  details: AuthorizationDetails,
  types: readonly AuthorizationDetailType[],
): DetailProblem | undefined {
  const budget = newBudget();
  for (const [index, detail] of details.entries()) {
    const type = types.find((each) => each.type === detail.type);
    const problem: DetailProblem | undefined = type
      ? validate(type.schema as SchemaObject, detail, `/${index}`, budget)
      : { pointer: `/${index}/type`, message: 'is no type of the API' };
    if (problem) return problem;
  }
  return undefined;
}

/** VALIDATION_ERROR for the types of a new or changed resource. */
export function detailTypeProblems(types: NewAuthorizationDetailTypes): FieldProblem[] {
  return types.flatMap(({ type, schema }, index) => {
    const field = `authorizationDetailTypes[${index}]`;
    const isRepeated = types.findIndex((other) => other.type === type) < index;
    const problem = schemaProblem(schema);
    return [
      ...(isRepeated
        ? [{ in: 'body', field: `${field}.type`, message: 'is the name of another type too' }]
        : []),
      ...(problem === undefined ? [] : [{ in: 'body', field: `${field}.schema`, message: problem }]),
    ];
  });
}
