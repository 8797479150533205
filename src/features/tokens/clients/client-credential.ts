/**
 * The client's proof of identity, as the request presents it: a secret in the form or by HTTP Basic (RFC 6749 §2.3.1), or a
 * signed assertion (RFC 7523), also a JWT-SVID of SPIFFE. A request may present one of them. A public client has none of them, and only
 * names itself.
 */
import type { TokenErrorCode } from '../../../contract/errors.ts';
import { failToken } from '../../../kernel/fail.ts';
import { isUuid, nilUuid } from '../../../kernel/ids.ts';
import { hashSecret } from '../../../kernel/secrets.ts';
import type { TokenRequest } from '../schema.ts';

export type ClientCredential =
  | { readonly kind: 'secret'; readonly agentId: string; readonly secretHash: Buffer }
  | {
      readonly kind: 'assertion';
      readonly clientId: string | undefined;
      readonly assertion: string;
      /** Of a client that its assertion names by an address. */
      readonly agentId?: string;
    }
  /** `svid`: a JWT-SVID. `workload`: the assertion of the grant itself. Neither is signed by a key of the client's own. */
  | {
      readonly kind: 'svid' | 'workload';
      readonly clientId: string | undefined;
      readonly assertion: string;
    }
  | { readonly kind: 'public'; readonly agentId: string; readonly clientId: string }
  | { readonly kind: 'invalid'; readonly agentId: string; readonly problem: string };

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
export const svidAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe';

/** The form fields that carry a proof. */
export type ClientFields = Pick<
  TokenRequest,
  'client_id' | 'client_secret' | 'client_assertion' | 'client_assertion_type'
>;

/** TokenError with the given code when the request presents no proof, unless public clients are admitted. */
export function readClientCredential(
  form: ClientFields,
  authorization: string | string[] | undefined,
  { missingClient, admitsPublic }: { readonly missingClient: TokenErrorCode; readonly admitsPublic: boolean },
): ClientCredential {
  // RFC 6749 §2.3.1: a client without a secret may send an empty one.
  const read = admitsPublic && !form.client_secret ? { ...form, client_secret: undefined } : form;
  const proof = findClientCredential(read as ClientFields, authorization);
  if (proof) return proof;
  if (admitsPublic && form.client_id)
    return { kind: 'public', agentId: agentIdOf(form.client_id), clientId: form.client_id };
  const missing = form.client_id === undefined ? 'client_id' : 'client_secret';
  return failToken(missingClient, `${missing} is required, in the body or by HTTP Basic`);
}

/** Undefined when the request does not present a client id and a proof. */
export function findClientCredential(
  form: ClientFields,
  authorization: string | string[] | undefined,
): ClientCredential | undefined {
  const { client_secret, client_assertion_type } = form;
  // RFC 6749 §3.2: a parameter without a value counts as left out. An empty secret alone still is a wrong one.
  const client_assertion = form.client_assertion || undefined;
  const basic = typeof authorization === 'string' ? /^Basic(?:\s+(.*))?$/i.exec(authorization) : null;
  const client_id = basic ? form.client_id || undefined : form.client_id;
  const presented = [basic, client_secret, client_assertion].filter(Boolean);
  if (presented.length > 1)
    return invalid(client_id, 'send one proof: by HTTP Basic, a secret in the body, or an assertion');
  if (basic) return readBasic(basic[1] ?? '', client_id);
  if (client_assertion !== undefined) {
    const found = { clientId: client_id, assertion: client_assertion };
    if (client_assertion_type === svidAssertionType) return { kind: 'svid', ...found };
    return client_assertion_type === assertionType
      ? { kind: 'assertion', ...found }
      : invalid(client_id, `client_assertion_type must be ${assertionType} or ${svidAssertionType}`);
  }
  return client_id === undefined || client_secret === undefined
    ? undefined
    : secret(client_id, client_secret);
}

/** Whether a client is named by the address of its metadata document. */
export const isClientAddress = (clientId: string): boolean => clientId.startsWith('https://');

/** The nil UUID for an id that is no UUID: its look-up costs the same and finds no agent. */
export const agentIdOf = (clientId: string): string => (isUuid(clientId) ? clientId.toLowerCase() : nilUuid);

const secret = (clientId: string, clientSecret: string): ClientCredential => ({
  kind: 'secret',
  agentId: agentIdOf(clientId),
  secretHash: hashSecret(clientSecret),
});

const invalid = (clientId: string | undefined, problem: string): ClientCredential => ({
  kind: 'invalid',
  agentId: agentIdOf(clientId ?? ''),
  problem,
});

function readBasic(encoded: string, formClientId: string | undefined): ClientCredential {
  // Buffer.from ignores characters that are not base64.
  if (!/^[\w+/-]+={0,2}$/.test(encoded)) return invalid(formClientId, 'the Basic credentials cannot be read');
  const [, id, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  try {
    if (id === undefined || password === undefined) throw new Error('no colon');
    // RFC 6749 has both parts form-encoded before they are joined.
    const clientId = formDecode(id);
    if (formClientId !== undefined && formClientId !== clientId)
      return invalid(clientId, 'client_id in the body is not that of HTTP Basic');
    return secret(clientId, formDecode(password));
  } catch {
    return invalid(formClientId, 'the Basic credentials cannot be read');
  }
}

const formDecode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
