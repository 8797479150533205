/** Security schemes, and which of them an operation accepts. */
import { scopeDescriptions } from '../../../contract/scopes.ts';
import type { Access } from '../route.ts';

export const securitySchemes = (baseUrl: string) => ({
  oauth2: {
    type: 'oauth2',
    description:
      'Client id and secret of an agent, exchanged for an access token; or the consent of a person, with PKCE (S256) and `resource`.',
    flows: {
      clientCredentials: { tokenUrl: `${baseUrl}/api/v1/token`, scopes: { ...scopeDescriptions } },
      authorizationCode: {
        authorizationUrl: `${baseUrl}/api/v1/authorize`,
        tokenUrl: `${baseUrl}/api/v1/token`,
        refreshUrl: `${baseUrl}/api/v1/token`,
        scopes: { ...scopeDescriptions },
      },
    },
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'An access token from POST /api/v1/token.',
  },
  clientBasic: {
    type: 'http',
    scheme: 'basic',
    description: 'Client id and secret; the form fields do as well.',
  },
});

/** The same token by either scheme: fetched with client credentials, or pasted. */
const token = (scopes: string[]) => [{ oauth2: scopes }, { bearer: [] }];

export function securityOf(access: Access): Record<string, string[]>[] {
  switch (access.kind) {
    case 'scope':
      return token([access.scope]);
    case 'clientOrScope':
      return [...token([access.scope]), { clientBasic: [] }];
    case 'clientOrBearer':
      return [...token([]), { clientBasic: [] }, {}];
    case 'policy':
      return token(access.scope ? [access.scope] : []);
    case 'bearer':
      return token([]);
    case 'secret':
      return access.secret === undefined ? [] : [{ bearer: [] }];
    case 'client':
      return [{ clientBasic: [] }, {}];
    case 'resourceToken':
      return [{ bearer: [] }];
    case 'session':
    case 'open':
      return [];
  }
}
