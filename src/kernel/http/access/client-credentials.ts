/** Client credentials on routes that accept them beside an access token (`clientOrScope`, `clientOrBearer`). */
import type { FastifyRequest } from 'fastify';
import { refuseDuplicates } from '../input/body.ts';
import { type Access, mediaTypes } from '../route.ts';

const names = ['client_id', 'client_secret', 'client_assertion_type', 'client_assertion'] as const;

/** The fields of the form that authenticate a client. `token`: a refresh token tells which agent an address means. */
export type ClientFields = { readonly [name in (typeof names)[number] | 'token']?: string };

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
  const sent = (form ?? {}) as Record<string, unknown>;
  const fields: Record<string, string> = {};
  for (const name of names) {
    const value = sent[name];
    if (Array.isArray(value)) refuseDuplicates(form);
    if (typeof value === 'string') fields[name] = value;
  }
  return typeof sent.token === 'string' ? { ...fields, token: sent.token } : fields;
}

export const hasProof = ({ client_secret, client_assertion }: ClientFields): boolean =>
  Boolean(client_secret || client_assertion);
