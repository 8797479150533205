/** Token exchange at the company's provider: a person's ID token for an identity assertion (ID-JAG). oidc-provider has no such grant. */
import { createPublicKey, type KeyObject, randomUUID } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { errors, type Provider } from 'oidc-provider';

const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

export interface IdJagClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  /** How the other authorization server knows this client, by its issuer. The company says so. */
  readonly knownAs: Record<string, string>;
}

export const idJagClientMetadata = ({ clientId, clientSecret, redirectUri }: IdJagClient) => ({
  client_id: clientId,
  client_secret: clientSecret,
  redirect_uris: [redirectUri],
  token_endpoint_auth_method: 'client_secret_post' as const,
  grant_types: ['authorization_code', tokenExchange],
  response_types: ['code' as const],
});

export function registerIdJagGrant(provider: Provider, { knownAs }: IdJagClient, key: KeyObject): void {
  const names = [
    'subject_token',
    'subject_token_type',
    'requested_token_type',
    'audience',
    'resource',
    'scope',
  ];
  provider.registerGrantType(
    tokenExchange,
    async (context) => {
      const { params = {}, client } = context.oidc;
      const asked = params as Record<string, string | undefined>;
      const audience = asked.audience ?? '';
      const clientId = knownAs[audience];
      const isIdJag = asked.requested_token_type === tokenType('id-jag');
      if (!clientId || !isIdJag || asked.subject_token_type !== tokenType('id_token'))
        throw new errors.InvalidRequest('no identity assertion is issued for this request');
      const { payload } = await jwtVerify(asked.subject_token ?? '', createPublicKey(key), {
        issuer: provider.issuer,
        audience: String(client?.clientId),
      });
      const claims = { client_id: clientId, resource: asked.resource, scope: asked.scope };
      const assertion = await new SignJWT(JSON.parse(JSON.stringify(claims)))
        .setProtectedHeader({ alg: 'RS256', kid: 'own', typ: 'oauth-id-jag+jwt' })
        .setIssuer(provider.issuer)
        .setSubject(String(payload.sub))
        .setAudience(audience)
        .setJti(randomUUID())
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(key);
      context.body = {
        issued_token_type: tokenType('id-jag'),
        access_token: assertion,
        token_type: 'N_A',
        expires_in: 300,
      };
    },
    names,
  );
}
