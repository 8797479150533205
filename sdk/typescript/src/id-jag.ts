/**
 * Enterprise-managed authorization: the company's identity provider exchanges the person's token for an identity assertion (ID-JAG), which
 * another authorization server accepts. draft-ietf-oauth-identity-assertion-authz-grant.
 */
import { readIssuer } from './addresses.ts';
import { requestToken } from './authorize/token-endpoint.ts';
import type { Dpop } from './dpop.ts';
import { ConnectionError } from './errors.ts';
import { createPlatform, type Platform } from './platform.ts';
import type { PrivateKey } from './private-key.ts';
import { createRequestLoop } from './request-loop.ts';
import { originOf, readFields } from './response.ts';
import { readScope } from './scope.ts';

/** Where the ID-JAG will be used. */
export interface IdJagTarget {
  /** The issuer of the authorization server that will accept it. */
  readonly audience: string;
  /** The identifier of the API. */
  readonly resource: string;
  readonly scope?: string | readonly string[] | undefined;
}

export interface IdJagOptions extends IdJagTarget {
  /** The identity provider at which the person has signed in. */
  readonly issuer: string;
  /** The client at the identity provider. */
  readonly clientId: string;
  /** Its secret or private key there. Absent for a public client. */
  readonly auth?: string | PrivateKey | undefined;
  /** The person's token of the identity provider. */
  readonly subjectToken: string;
  /** `id_token` by default. */
  readonly subjectTokenType?: 'id_token' | 'access_token' | 'refresh_token' | 'saml2' | undefined;
  /** What `createDpop` has returned: binds the ID-JAG to its key, with which it is redeemed. */
  readonly dpop?: Dpop | undefined;
  /** For tests, and for programs with a fetch of their own. */
  readonly platform?: Partial<Platform> | undefined;
}

const tokenType = (name: string): string => `urn:ietf:params:oauth:token-type:${name}`;
const maxAnswerBytes = 256 * 1024;

/** An ID-JAG, which lives for some minutes. */
export function requestIdJag(options: IdJagOptions): Promise<string> {
  const { clientId, auth, subjectToken, subjectTokenType = 'id_token', audience, resource, scope } = options;
  const platform = createPlatform(options.platform);
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: tokenType('id-jag'),
    subject_token: subjectToken,
    subject_token_type: tokenType(subjectTokenType),
    audience,
    resource,
    scope: readScope(scope),
  };
  const deps = { dpop: options.dpop, platform, loop: createRequestLoop(platform) };
  return requestToken(readIssuer(options.issuer), { clientId, auth }, async () => form, readIdJag, deps);
}

/** Another token must not be sent to the other server. */
async function readIdJag(response: Response): Promise<string> {
  const { access_token, issued_token_type } = await readFields(response, maxAnswerBytes);
  if (typeof access_token === 'string' && access_token !== '' && issued_token_type === tokenType('id-jag'))
    return access_token;
  throw new ConnectionError('invalid_response', `${originOf(response)} sent no ID-JAG`);
}
