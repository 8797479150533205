/** The translation of a realm. test/clients/keycloak.test.ts compares this realm with an export of Keycloak. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keycloakApis, keycloakRealm } from '../../../../../test/support/scenarios/keycloak-realm.ts';
import { type ImportOptions, identityOf } from './identity.ts';
import { createLeftOut } from './left-out.ts';
import { readRealm } from './realm.ts';

const defaults: ImportOptions = {
  emailDomain: 'agents.shop.example',
  owner: 'platform',
  deploymentEnv: 'production',
  apis: keycloakApis,
  only: undefined,
  without: new Set(),
};

function translate(options: Partial<ImportOptions> = {}, realm: unknown = keycloakRealm) {
  const leftOut = createLeftOut();
  const identity = identityOf(
    readRealm(JSON.stringify(realm), undefined),
    { ...defaults, ...options },
    leftOut,
  );
  return { ...identity, leftOut: leftOut.all.map(({ what, why }) => `${what}: ${why}`) };
}

const { agents, resources, grants, leftOut } = translate();
const grantsOf = (name: string) =>
  Object.fromEntries(
    grants
      .filter(({ agent }) => agent === `${name}@agents.shop.example`)
      .map(({ resource, scopes }) => [resource, scopes]),
  );
const agentOf = (name: string) => agents.find(({ email }) => email === `${name}@agents.shop.example`);

describe('a realm', () => {
  it('gives an agent for each service account, and none for other clients and people', () => {
    const names = ['screener', 'reporter', 'stock-keeper', 'narrow', 'signer'];
    assert.deepEqual(
      agents.map(({ email }) => email),
      names.map((name) => `${name}@agents.shop.example`),
    );
    assert.deepEqual(agentOf('screener'), {
      email: 'screener@agents.shop.example',
      displayName: 'Order screener',
      agentType: 'custom',
      version: '1.0.0',
      capabilities: ['orders:read', 'orders:write'],
      owner: 'platform',
      deploymentEnv: 'production',
      dpopBoundAccessTokens: true,
    });
    assert.equal(agentOf('stock-keeper')?.status, 'suspended');
  });

  it('gives an API for each client with roles or scopes that a service account holds', () => {
    assert.deepEqual(resources[0], {
      identifier: 'https://orders.shop.example',
      name: 'Orders',
      scopes: [{ name: 'orders:read', description: 'Read orders' }, 'orders:write', 'orders:admin'],
    });
    assert.deepEqual(resources.map(({ identifier }) => identifier).sort(), [
      'https://invoices.shop.example',
      'https://ledger.shop.example',
      'https://orders.shop.example',
      'https://stock.shop.example',
    ]);
  });

  it('gives grants for roles, composite roles, roles of groups, and client scopes', () => {
    assert.deepEqual(grantsOf('screener'), {
      'https://orders.shop.example': ['orders:read', 'orders:write'],
    });
    assert.deepEqual(grantsOf('stock-keeper'), {
      'https://stock.shop.example': ['stock:read'],
      'https://orders.shop.example': ['orders:read'],
    });
    assert.deepEqual(grantsOf('reporter'), {
      'https://invoices.shop.example': ['invoices:read'],
      'https://ledger.shop.example': ['ledger:read'],
    });
  });

  it('gives no scope that the tokens of Keycloak would not carry', () => {
    assert.deepEqual(grantsOf('narrow'), { 'https://orders.shop.example': ['orders:read'] });
    assert.ok(
      leftOut.some((line) => /^agent narrow: role orders:write of orders-api: its tokens/.test(line)),
    );
  });

  it('reports what it leaves out, and has no secret', () => {
    for (const expected of [
      /^agent screener: realm role auditor: it belongs to no API$/,
      /^agent reporter: role view-users of realm-management: /,
      /^agent reporter: client scope partner: no audience mapper/,
      /^agent signer: its key \(client-jwt\)/,
      /^API orders-api: Order desk: a scope has/,
      /^client storefront: a public client/,
      /^client unused-api: no service account/,
      /^1 user: people sign in through a connection/,
    ])
      assert.ok(
        leftOut.some((line) => expected.test(line)),
        `${expected}\n${leftOut.join('\n')}`,
      );
    assert.doesNotMatch(JSON.stringify(translate()), /the secret of/);
  });

  it('chooses with --only and --without', () => {
    const one = translate({ only: new Set(['reporter']), without: new Set(['https://ledger.shop.example']) });
    assert.deepEqual(
      one.agents.map(({ email }) => email),
      ['reporter@agents.shop.example'],
    );
    assert.deepEqual(
      one.grants.map(({ resource }) => resource),
      ['https://invoices.shop.example'],
    );
    assert.throws(() => translate({ only: new Set(['reportr']) }), /no such client; did you mean reporter\?/);
  });

  it('needs the address of each API', () => {
    assert.throws(
      () => translate({ apis: new Map() }),
      /--api orders-api=https[\s\S]+--api invoices-api=https/,
    );
    const same = new Map([...keycloakApis.keys()].map((api) => [api, 'https://one.shop.example']));
    assert.throws(() => translate({ apis: same }), /have the same identifier https:\/\/one\.shop\.example/);
  });
});

describe('a hostile or broken export', () => {
  const realm = (clients: unknown, more: object = {}) => ({ realm: 'x', clients, users: [], ...more });
  const client = (more: object) => ({ clientId: 'a', serviceAccountsEnabled: true, ...more });
  const cases: readonly [string, unknown, RegExp][] = [
    ['no list', realm({}), /^clients must be a list$/],
    ['no users', { realm: 'x', clients: [] }, /^users is missing, /],
    ['a number as name', realm([client({ clientId: 7 })]), /^clients\[0\]\.clientId must be a text$/],
    ['a text as truth', realm([client({ enabled: 'no' })]), /^clients\[0\]\.enabled must be true or false$/],
    [
      'a control character',
      realm([client({ clientId: 'a\u001b[2J' })]),
      /^clients\[0\]\.clientId has control.*u\{001b\}/,
    ],
    [
      'a hidden character',
      realm([client({ name: 'a\u202eb' })]),
      /^clients\[0\]\.name has control.*u\{202e\}/,
    ],
    [
      'one client twice',
      realm([client({}), client({})]),
      /^clients\[1\]\.clientId is that of clients\[0\], too: a$/,
    ],
    [
      'one address twice',
      realm([client({ clientId: 'A b' }), client({ clientId: 'a-b' })]),
      /same e-mail address a-b@/,
    ],
    [
      'a role without a name',
      realm([], { roles: { client: { api: [{}] } } }),
      /^roles\.client\.api\[0\]\.name is missing$/,
    ],
    ['a role as text', realm([], { roles: { realm: ['r'] } }), /^roles\.realm\[0\] must be an object$/],
  ];
  for (const [name, text, problem] of cases)
    it(`is refused with the path of the field: ${name}`, () =>
      assert.throws(() => translate({ apis: new Map() }, text), { message: problem }));

  it('is refused when it is no JSON, has a field twice, or several realms', () => {
    const read = (text: string, name?: string) => () => readRealm(text, name);
    assert.throws(read('{'), /is not JSON/);
    assert.throws(read('{"realm":"x","realm":"y"}'), /the field realm twice/);
    const two = JSON.stringify([realm([]), { ...realm([]), realm: 'y' }]);
    assert.throws(read(two), /2 realms; choose one with --realm: x, y/);
    assert.throws(read(two, 'z'), /no realm z/);
    assert.equal(readRealm(two, 'y').name, 'y');
  });

  it('may have names of prototypes and roles that contain each other', () => {
    const text = `{"realm":"x",
      "clients":[{"clientId":"constructor","serviceAccountsEnabled":true},{"clientId":"__proto__","bearerOnly":true}],
      "roles":{"client":{"__proto__":[
        {"name":"toString","composites":{"client":{"__proto__":["valueOf"]}}},
        {"name":"valueOf","composites":{"client":{"__proto__":["toString"]}}}]}},
      "users":[{"serviceAccountClientId":"constructor","clientRoles":{"__proto__":["toString"]}}]}`;
    const made = identityOf(
      readRealm(text, undefined),
      { ...defaults, apis: new Map([['__proto__', 'https://p.example']]) },
      createLeftOut(),
    );
    assert.deepEqual(made.grants, [
      {
        agent: 'constructor@agents.shop.example',
        resource: 'https://p.example',
        scopes: ['toString', 'valueOf'],
      },
    ]);
    assert.equal(Object.hasOwn(Object.prototype, 'clientId'), false);
  });
});
