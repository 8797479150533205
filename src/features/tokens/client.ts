/**
 * How a client presents itself at the token endpoint: form fields or HTTP Basic (RFC 6749 §2.3.1), or a signed assertion
 * (RFC 7523). One way at a time.
 */
import type { TokenRequest } from './schema.ts';

export type Presented =
  | { readonly kind: 'secret'; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: 'assertion'; readonly clientId: string | undefined; readonly assertion: string }
  /** Nothing that could prove anything, for want of this field. */
  | { readonly kind: 'missing'; readonly field: string }
  /** Whatever it is, it proves nothing. */
  | { readonly kind: 'unusable'; readonly clientId: string; readonly problem: string };

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export function presentedClient(form: TokenRequest, authorization: string | string[] | undefined): Presented {
  const { client_secret, client_assertion_type } = form;
  // RFC 6749 §3.2: a parameter without a value counts as left out. An empty secret alone still is a wrong one.
  const client_assertion = form.client_assertion || undefined;
  const basic = typeof authorization === 'string' ? /^Basic(?:\s+(.*))?$/i.exec(authorization) : null;
  const client_id = basic ? form.client_id || undefined : form.client_id;
  const ways = [basic, client_secret, client_assertion].filter(Boolean);
  if (ways.length > 1) {
    return unusable(client_id, 'send one proof: by HTTP Basic, a secret in the body, or an assertion');
  }
  if (basic) return fromBasic(basic[1] ?? '', client_id);
  if (client_assertion !== undefined) {
    return client_assertion_type === assertionType
      ? { kind: 'assertion', clientId: client_id, assertion: client_assertion }
      : unusable(client_id, `client_assertion_type must be ${assertionType}`);
  }
  if (client_id === undefined || client_secret === undefined) {
    return { kind: 'missing', field: client_id === undefined ? 'client_id' : 'client_secret' };
  }
  return { kind: 'secret', clientId: client_id, clientSecret: client_secret };
}

const unusable = (clientId: string | undefined, problem: string): Presented => ({
  kind: 'unusable',
  clientId: clientId ?? '',
  problem,
});

function fromBasic(encoded: string, alsoNamed: string | undefined): Presented {
  // Decoding would overlook what does not belong there.
  if (!/^[\w+/-]+={0,2}$/.test(encoded)) return unusable(alsoNamed, 'the Basic credentials cannot be read');
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  try {
    if (id === undefined || secret === undefined) throw new Error('no colon');
    // RFC 6749 has both parts form-encoded before they are joined.
    const clientId = formDecode(id);
    if (alsoNamed !== undefined && alsoNamed !== clientId) {
      return unusable(clientId, 'client_id in the body is not that of HTTP Basic');
    }
    return { kind: 'secret', clientId, clientSecret: formDecode(secret) };
  } catch {
    return unusable(alsoNamed, 'the Basic credentials cannot be read');
  }
}

const formDecode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
