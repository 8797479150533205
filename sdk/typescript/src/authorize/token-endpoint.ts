/** Requests at the token endpoint of any authorization server, found by its metadata. */
import { createProof } from '../authentication.ts';
import type { Dpop } from '../dpop.ts';
import type { Platform } from '../platform.ts';
import type { PrivateKey } from '../private-key.ts';
import type { RequestLoop } from '../request-loop.ts';
import { postForm } from '../request-rules.ts';
import { discoverTokenServer, type TokenServer } from './discovery.ts';

export interface TokenClient {
  readonly clientId?: string | undefined;
  /** A secret, or a private key. Absent: the client does not authenticate. */
  readonly auth?: string | PrivateKey | undefined;
}

export interface TokenEndpointDeps {
  readonly dpop: Dpop | undefined;
  readonly platform: Platform;
  readonly loop: RequestLoop;
}

/** Called for each attempt: an assertion may be accepted once. */
export type TokenForm = () => Promise<Readonly<Record<string, string | undefined>>>;

/** Sends a form to the token endpoint of the issuer, again after 429, 503 and network errors. */
export async function requestToken<T>(
  issuer: string,
  client: TokenClient,
  form: TokenForm,
  read: (response: Response) => Promise<T>,
  { dpop, platform, loop }: TokenEndpointDeps,
): Promise<T> {
  const server = await discoverTokenServer(issuer, loop);
  const authenticate = createAuthentication(issuer, client, server, platform);
  const init = async () => {
    const { fields, headers } = await authenticate();
    return postForm({ ...fields, ...textsIn(await form()) }, headers);
  };
  return loop({ url: server.tokenEndpoint, init, repeat: 'always', fetch: dpop?.fetch }, read);
}

const textsIn = (form: Awaited<ReturnType<TokenForm>>) =>
  Object.fromEntries(
    Object.entries(form).filter((field): field is [string, string] => field[1] !== undefined),
  );

interface Authentication {
  readonly fields: Record<string, string>;
  readonly headers?: Record<string, string>;
}

function createAuthentication(
  issuer: string,
  { clientId, auth }: TokenClient,
  { authMethods }: TokenServer,
  platform: Platform,
): () => Promise<Authentication> {
  if (clientId === undefined) return async () => ({ fields: {} });
  if (auth === undefined) return async () => ({ fields: { client_id: clientId } });
  const prove = createProof({ issuer, clientId, auth, platform });
  // RFC 8414 §2: HTTP Basic is the method of servers that name none.
  if (typeof auth !== 'string' || authMethods.includes('client_secret_post'))
    return async () => ({ fields: await prove() });
  const credentials = btoa(`${formEncode(clientId)}:${formEncode(auth)}`);
  return async () => ({ fields: {}, headers: { authorization: `Basic ${credentials}` } });
}

/** RFC 6749 §2.3.1. */
const formEncode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
