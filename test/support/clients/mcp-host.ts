/** An application that signs a person in with the official MCP SDK, of either version. */
import { randomUUID } from 'node:crypto';
import type * as second from '@modelcontextprotocol/client';
import type * as first from '@modelcontextprotocol/sdk/client/auth.js';

type Provider = first.OAuthClientProvider & second.OAuthClientProvider;
export type Host = Provider & {
  /** Where the SDK sends the browser. */
  address: URL | undefined;
  sent: string | undefined;
};
export type Known = Pick<Provider, 'addClientAuthentication' | 'clientMetadataUrl'> & {
  redirectUrl: string;
  client?: { client_id: string; client_secret?: string };
};

/** An application that keeps what the SDK gives it. */
export function createHost(issuer: string, { client, redirectUrl, ...known }: Known): Host {
  let information: ReturnType<Provider['clientInformation']> = client && { ...client, issuer };
  let discovered: Awaited<ReturnType<NonNullable<second.OAuthClientProvider['discoveryState']>>>;
  let tokens: Awaited<ReturnType<Provider['tokens']>>;
  let verifier = '';
  const host: Host = {
    ...known,
    redirectUrl,
    address: undefined,
    sent: undefined,
    clientMetadata: { client_name: 'Host', redirect_uris: [redirectUrl] },
    state() {
      host.sent = randomUUID();
      return host.sent;
    },
    clientInformation: () => information,
    saveClientInformation(saved) {
      information = saved;
    },
    tokens: () => tokens,
    saveTokens(saved) {
      tokens = saved;
    },
    redirectToAuthorization(url) {
      host.address = url;
    },
    saveCodeVerifier(saved) {
      verifier = saved;
    },
    codeVerifier: () => verifier,
    discoveryState: () => discovered,
    saveDiscoveryState(saved: typeof discovered) {
      discovered = saved;
    },
    invalidateCredentials(scope) {
      if (scope === 'tokens') tokens = undefined;
    },
  };
  return host;
}
