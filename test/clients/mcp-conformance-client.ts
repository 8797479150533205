/** The client that the MCP conformance package runs: this SDK does all of OAuth, the MCP SDK speaks the protocol. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { authorizeOnLoopback } from '../../sdk/typescript/src/loopback.ts';
import { createResourceClient, type ResourceGrant, requestIdJag } from '../../sdk/typescript/src/sdk.ts';

const url = process.argv[2] ?? '';
const {
  MCP_CONFORMANCE_SCENARIO: scenario = '',
  MCP_CONFORMANCE_PROTOCOL_VERSION: version = '',
  MCP_CONFORMANCE_CONTEXT: context = '{}',
} = process.env;
const given: Record<string, string> = JSON.parse(context);
const clientId = given.client_id ?? 'https://conformance-test.local/client-metadata.json';

/** The package's server redirects without a question, so fetch is browser enough. */
const person: ResourceGrant = {
  clientId,
  authorize: (options) => authorizeOnLoopback({ ...options, open: async (address) => fetch(address) }),
};

const grants: Record<string, ResourceGrant> = {
  'auth/client-credentials-basic': { clientId, auth: given.client_secret ?? '' },
  'auth/client-credentials-jwt': {
    clientId,
    auth: { key: given.private_key_pem ?? '', algorithm: given.signing_algorithm ?? '' },
  },
  'auth/wif-jwt-bearer': { auth: () => given.valid_jwt ?? '' },
  'auth/enterprise-managed-authorization': {
    clientId,
    auth: given.client_secret,
    idJag: (target) =>
      requestIdJag({
        ...target,
        issuer: given.idp_issuer ?? '',
        clientId: given.idp_client_id ?? '',
        subjectToken: given.idp_id_token ?? '',
      }),
  },
};

// The package does not say which server to trust.
const api = createResourceClient({
  ...{ url, issuers: 'any', grant: grants[scenario] ?? person },
  dpop: scenario.startsWith('auth/dpop'),
});
const client = new Client(
  { name: 'countersign-sdk', version: '0.1.0' },
  version >= '2026-07-28' ? { versionNegotiation: { mode: { pin: version } } } : {},
);
try {
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: api.fetch }));
  const { tools } = await client.listTools();
  for (const { name } of tools) await client.callTool({ name, arguments: {} });
  await client.close();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
