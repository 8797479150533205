/** Client credentials on routes that accept them beside an access token (`clientOrScope`, `clientOrBearer`). */
import type { FastifyRequest } from 'fastify';
import { refuseDuplicates } from '../input/body.ts';
import { type Access, mediaTypes } from '../route.ts';

const names = ['client_id', 'client_secret', 'client_assertion_type', 'client_assertion'] as const;

/** The fields of the form that authenticate a client. */
export type ClientFields = { readonly [name in (typeof names)[number]]?: string };

export const acceptsClientCredentials = ({ kind }: Access): boolean =>
  kind === 'clientOrScope' || kind === 'clientOrBearer';

/** By HTTP Basic, or in a form that has to be read first. Requests with another `Authorization` are judged by it alone. */
export function mayCarryClientCredentials({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const { authorization, 'content-type': contentType = '' } = headers;
  return authorization === undefined
    ? contentType.toLowerCase().startsWith(mediaTypes.form)
    : /^Basic(?:\s|$)/i.test(authorization);
}

/** The form is not yet validated: a repeated field is a list. */
export function readClientFields(form: unknown): ClientFields {
  const fields: Record<string, string> = {};
  for (const name of names) {
    const value = ((form ?? {}) as Record<string, unknown>)[name];
    if (Array.isArray(value)) refuseDuplicates(form);
    if (typeof value === 'string') fields[name] = value;
  }
  return fields;
}

export const hasProof = ({ client_secret, client_assertion }: ClientFields): boolean =>
  Boolean(client_secret || client_assertion);
