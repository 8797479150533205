/** How a client presents itself at the token endpoint: form fields, or HTTP Basic (RFC 6749 §2.3.1), never both. */
import { failToken } from '../../kernel/fail.ts';
import type { TokenRequest } from './schema.ts';

export interface Presented {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Why this cannot be a client, whatever the secret. */
  readonly problem?: string;
}

export function presentedClient(form: TokenRequest, authorization: string | string[] | undefined): Presented {
  const { client_id, client_secret } = form;
  const basic = typeof authorization === 'string' ? /^Basic(?:\s+(.*))?$/i.exec(authorization) : null;
  if (basic) {
    const presented = decodeBasic(basic[1] ?? '');
    if (client_secret !== undefined || (client_id !== undefined && client_id !== presented.clientId)) {
      return { ...presented, problem: 'send the credentials by HTTP Basic or in the body, not both' };
    }
    return presented;
  }
  if (client_id === undefined || client_secret === undefined) {
    return failToken(
      'unsupported_grant_type',
      `${client_id === undefined ? 'client_id' : 'client_secret'} is required, in the body or by HTTP Basic`,
    );
  }
  return { clientId: client_id, clientSecret: client_secret };
}

function decodeBasic(encoded: string): Presented {
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  try {
    if (id === undefined || secret === undefined) throw new Error('no colon');
    // RFC 6749 has both parts form-encoded before they are joined.
    return { clientId: formDecode(id), clientSecret: formDecode(secret) };
  } catch {
    return { clientId: '', clientSecret: '', problem: 'the Basic credentials cannot be read' };
  }
}

const formDecode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
