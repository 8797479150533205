/** The parts of a realm that Keycloak makes itself. */
import type { RoleName } from './realm.ts';

const clients = new Set([
  'account',
  'account-console',
  'admin-cli',
  'broker',
  'realm-management',
  'security-admin-console',
]);

/** They say which claims a token has, or that there is a refresh token. */
const clientScopes = new Set([
  'acr',
  'address',
  'basic',
  'email',
  'microprofile-jwt',
  'offline_access',
  'organization',
  'phone',
  'profile',
  'role_list',
  'roles',
  'saml_organization',
  'service_account',
  'web-origins',
]);

export const isBuiltInClient = (clientId: string): boolean => clients.has(clientId);

export const isBuiltInScope = (name: string): boolean => clientScopes.has(name);

/** Every account has them. */
export const isDefaultRole = ({ client, name }: RoleName, realm: string): boolean =>
  client === undefined
    ? name === `default-roles-${realm.toLowerCase()}` || /^(?:offline_access|uma_authorization)$/.test(name)
    : client === 'account' || client === 'broker' || name === 'uma_protection';
