/** The values of the form for an API, and the request that they make. */
import type { NewResource, Resource } from '../../../api/generated.ts';

interface ScopeValues {
  /** For React: rows can be removed in the middle. */
  key: string;
  name: string;
  description: string;
}

/** A kind of action that requests can name exactly. */
export interface DetailTypeValues {
  /** For React: rows can be removed in the middle. */
  key: string;
  type: string;
  description: string;
  /** JSON. */
  schema: string;
}

export interface ApiValues extends Record<string, unknown> {
  identifier: string;
  name: string;
  description: string;
  scopes: ScopeValues[];
  tokenLifetimeSeconds: number | string;
  claims: string[];
  /** Scopes that every person may lend. */
  peopleScopes: string[];
  /** Ids of people who may lend every scope. */
  approvers: string[];
  authorizationDetailTypes: DetailTypeValues[];
}

let rows = 0;
export const newScope = (name = '', description = ''): ScopeValues => {
  rows += 1;
  return { key: `scope-${rows}`, name, description };
};

const firstSchema = {
  type: 'object',
  properties: { type: {}, amount: { type: 'number' }, currency: { type: 'string' } },
  required: ['amount', 'currency'],
  additionalProperties: false,
};

export const newDetailType = (
  type = '',
  description = '',
  schema: object = firstSchema,
): DetailTypeValues => {
  rows += 1;
  return { key: `type-${rows}`, type, description, schema: JSON.stringify(schema, null, 2) };
};

export const valuesOf = (resource: Resource | undefined): ApiValues => ({
  identifier: resource?.identifier ?? '',
  name: resource?.name ?? '',
  description: resource?.description ?? '',
  scopes: resource?.scopes.map(({ name, description }) => newScope(name, description ?? '')) ?? [newScope()],
  tokenLifetimeSeconds: resource?.tokenLifetimeSeconds ?? 3600,
  claims: resource?.claims ?? [],
  peopleScopes: resource?.peopleScopes ?? [],
  approvers: resource?.approvers ?? [],
  authorizationDetailTypes:
    resource?.authorizationDetailTypes.map(({ type, description, schema }) =>
      newDetailType(type, description ?? '', schema),
    ) ?? [],
});

type Claim = NonNullable<NewResource['claims']>[number];

/** Without the identifier, which cannot be changed. */
export const changeOf = ({
  name,
  description,
  scopes,
  tokenLifetimeSeconds,
  claims,
  ...people
}: ApiValues) => ({
  name: name.trim(),
  description: description.trim() || null,
  scopes: scopes.map((scope) => ({ name: scope.name.trim(), description: scope.description.trim() || null })),
  tokenLifetimeSeconds: Number(tokenLifetimeSeconds),
  claims: claims as Claim[],
  // A scope that was taken from the list above, or renamed, is lent no more.
  peopleScopes: people.peopleScopes.filter((lent) => scopes.some((scope) => scope.name.trim() === lent)),
  approvers: people.approvers,
  authorizationDetailTypes: people.authorizationDetailTypes.map(({ type, description, schema }) => ({
    type: type.trim(),
    description: description.trim() || null,
    // What is no object is a problem of the form.
    schema: schemaOf(schema) ?? {},
  })),
});

/** Undefined for text that is no JSON object. */
function schemaOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

export const newResourceOf = (values: ApiValues): NewResource => ({
  identifier: values.identifier.trim(),
  ...changeOf(values),
});

const isIdentifier = (text: string): boolean =>
  /^https:\/\/.|^http:\/\/(localhost|127\.|\[::1\])/i.test(text);
const detailType = /^[a-z0-9_.-]{1,64}$/;
const scopeToken = /^[!#-[\]-~]{1,64}$/;

/** Keys as the form names its inputs: `scopes.0.name`. */
export function problemsOf(values: ApiValues): Record<string, string> {
  const problems: Record<string, string> = {};
  const seconds = Number(values.tokenLifetimeSeconds);
  if (!isIdentifier(values.identifier.trim()))
    problems.identifier = 'An address that starts with https:// (http:// for localhost only).';
  if (values.name.trim() === '') problems.name = 'Give it a name.';
  if (!Number.isInteger(seconds) || seconds < 60 || seconds > 3600)
    problems.tokenLifetimeSeconds = 'From 60 to 3,600 seconds.';
  const names = values.scopes.map(({ name }) => name.trim());
  for (const [index, name] of names.entries()) {
    if (!scopeToken.test(name))
      problems[`scopes.${index}.name`] = '1 to 64 printable ASCII characters without blanks, " and \\';
    else if (names.indexOf(name) < index) problems[`scopes.${index}.name`] = 'Each name once.';
  }
  const types = values.authorizationDetailTypes.map(({ type }) => type.trim());
  for (const [index, { schema }] of values.authorizationDetailTypes.entries()) {
    const at = `authorizationDetailTypes.${index}`;
    const type = types[index] ?? '';
    if (!detailType.test(type)) problems[`${at}.type`] = '1 to 64 of a-z, 0-9, _ . -';
    else if (types.indexOf(type) < index) problems[`${at}.type`] = 'Each type once.';
    if (schemaOf(schema) === undefined) problems[`${at}.schema`] = 'This is no JSON object.';
  }
  return problems;
}
