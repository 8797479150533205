/** A realm whose service accounts are imported, in the form of an export. test/clients/keycloak.test.ts compares it with one of Keycloak. */

const audience = (name: string, config: Record<string, string>) => ({
  name,
  protocol: 'openid-connect',
  protocolMappers: [
    {
      name: 'audience',
      protocol: 'openid-connect',
      protocolMapper: 'oidc-audience-mapper',
      config: { 'access.token.claim': 'true', ...config },
    },
  ],
});
const serviceAccount = (clientId: string, more: object = {}) => ({
  clientId,
  publicClient: false,
  standardFlowEnabled: false,
  serviceAccountsEnabled: true,
  ...more,
});
const accountOf = (clientId: string, more: object) => ({
  username: `service-account-${clientId}`,
  enabled: true,
  serviceAccountClientId: clientId,
  ...more,
});

export const keycloakRealm = {
  realm: 'shop',
  enabled: true,
  roles: {
    realm: [
      { name: 'auditor' },
      { name: 'clerk', composite: true, composites: { client: { 'orders-api': ['orders:read'] } } },
    ],
    client: {
      'orders-api': [
        { name: 'orders:read', description: 'Read orders' },
        { name: 'orders:write' },
        {
          name: 'orders:admin',
          composite: true,
          composites: { client: { 'orders-api': ['orders:read', 'orders:write'] } },
        },
        { name: 'Order desk' },
      ],
      'https://stock.shop.example': [{ name: 'stock:read' }],
      'unused-api': [{ name: 'unused' }],
    },
  },
  groups: [
    {
      name: 'robots',
      path: '/robots',
      clientRoles: { 'orders-api': ['orders:read'] },
      subGroups: [
        {
          name: 'stock',
          path: '/robots/stock',
          clientRoles: { 'https://stock.shop.example': ['stock:read'] },
        },
      ],
    },
  ],
  clientScopes: [
    audience('invoices:read', { 'included.client.audience': 'invoices-api' }),
    audience('ledger:read', { 'included.custom.audience': 'https://ledger.shop.example' }),
    { name: 'partner', protocol: 'openid-connect' },
  ],
  clients: [
    { clientId: 'orders-api', name: 'Orders', bearerOnly: true },
    { clientId: 'https://stock.shop.example', bearerOnly: true },
    { clientId: 'invoices-api', name: 'Invoices', bearerOnly: true },
    { clientId: 'unused-api', bearerOnly: true },
    {
      clientId: 'storefront',
      name: 'Storefront',
      publicClient: true,
      redirectUris: ['https://shop.example/*'],
    },
    serviceAccount('screener', {
      name: 'Order screener',
      secret: 'the secret of the screener',
      attributes: { 'dpop.bound.access.tokens': 'true' },
    }),
    serviceAccount('reporter', {
      name: 'Reporter',
      defaultClientScopes: ['invoices:read'],
      optionalClientScopes: ['ledger:read', 'partner'],
    }),
    serviceAccount('stock-keeper', { enabled: false }),
    serviceAccount('narrow', { fullScopeAllowed: false }),
    serviceAccount('signer', {
      clientAuthenticatorType: 'client-jwt',
      attributes: { 'use.jwks.url': 'true', 'jwks.url': 'https://signer.shop.example/jwks.json' },
    }),
  ],
  clientScopeMappings: { 'orders-api': [{ client: 'narrow', roles: ['orders:read'] }] },
  users: [
    {
      username: 'ada',
      email: 'ada@shop.example',
      enabled: true,
      clientRoles: { 'orders-api': ['orders:write'] },
    },
    accountOf('screener', {
      realmRoles: ['auditor', 'clerk'],
      clientRoles: { 'orders-api': ['orders:write', 'Order desk'] },
    }),
    accountOf('reporter', { clientRoles: { 'realm-management': ['view-users'] } }),
    accountOf('stock-keeper', { groups: ['/robots/stock'] }),
    accountOf('narrow', { clientRoles: { 'orders-api': ['orders:admin'] } }),
    accountOf('signer', {}),
  ],
};

export const keycloakApis = new Map([
  ['orders-api', 'https://orders.shop.example'],
  ['invoices-api', 'https://invoices.shop.example'],
]);
