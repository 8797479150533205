import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { equivalentUris } from '../../kernel/audience.ts';
import { AuthorizationError, UnusableRequest } from './authorization-error.ts';
import { readClientId, readRedirectUri, readRequest, readState } from './parameters.ts';
import { codeAddress, errorAddress, hostOf } from './redirect.ts';
import { hideSuccessor, revealSuccessor } from './refresh-token.ts';

const issuer = 'https://countersign.test';
const valid = {
  response_type: 'code',
  client_id: 'client',
  code_challenge: 'a'.repeat(43),
  code_challenge_method: 'S256',
  resource: 'https://orders.example',
};
const errorOf = (changes: Record<string, unknown>): string => {
  try {
    readRequest({ ...valid, ...changes }, issuer);
    return 'none';
  } catch (error) {
    assert.ok(error instanceof AuthorizationError, String(error));
    return error.code;
  }
};

describe('readRequest', () => {
  it('reads all parameters', () => {
    const all = {
      ...valid,
      scope: 'b a  b',
      state: 's',
      prompt: 'login consent',
      login_hint: 'ada',
      organization: 'acme',
      dpop_jkt: 'k'.repeat(43),
    };
    assert.deepEqual(readRequest(all, issuer), {
      codeChallenge: 'a'.repeat(43),
      dpopJkt: 'k'.repeat(43),
      resource: 'https://orders.example',
      scopes: ['b', 'a'],
      authorizationDetails: null,
      state: 's',
      prompt: ['login', 'consent'],
      loginHint: 'ada',
      organization: 'acme',
    });
  });
  it('a parameter without a value counts as left out', () => {
    const read = readRequest({ ...valid, scope: '', state: '', prompt: '', organization: '' }, issuer);
    assert.deepEqual([read.scopes, read.state, read.prompt, read.organization], [null, null, [], undefined]);
    assert.equal(errorOf({ resource: '' }), 'invalid_target');
  });
  it('without scope, details of an action say it all', () => {
    const details = [{ type: 'payment', amount: 0 }];
    const read = (more: object) =>
      readRequest(
        { ...valid, authorization_details: '[{"amount": -0, "type": "payment"}]', ...more },
        issuer,
      );
    assert.deepEqual([read({}).scopes, read({}).authorizationDetails], [[], details]);
    assert.deepEqual(read({ scope: 'a' }).scopes, ['a']);
  });
  it('every spelling of our own address is the issuer', () => {
    for (const resource of [issuer, `${issuer}/`])
      assert.equal(readRequest({ ...valid, resource }, issuer).resource, issuer);
  });
  it('a repeated parameter is invalid_request, known or not; a repeated resource is invalid_target', () => {
    for (const name of ['scope', 'state', 'response_type', 'code_challenge', 'anything', ''])
      assert.equal(errorOf({ [name]: ['a', 'a'] }), 'invalid_request', name);
    assert.equal(errorOf({ resource: ['https://a.example', 'https://a.example'] }), 'invalid_target');
  });
  const cases: [Record<string, unknown>, string][] = [
    [{ state: 'x'.repeat(1_024) }, 'none'],
    [{ state: 'x'.repeat(1_025) }, 'invalid_request'],
    [{ code_challenge: 'a'.repeat(42) }, 'invalid_request'],
    [{ code_challenge: 'a'.repeat(44) }, 'invalid_request'],
    [{ code_challenge: `${'a'.repeat(42)}=` }, 'invalid_request'],
    [{ code_challenge_method: 's256' }, 'invalid_request'],
    [{ prompt: 'none' }, 'none'],
    [{ prompt: 'none consent' }, 'invalid_request'],
    [{ prompt: 'create' }, 'invalid_request'],
    [{ response_mode: 'query' }, 'none'],
    [{ response_mode: 'form_post' }, 'invalid_request'],
    [{ request_uri: 'urn:x' }, 'invalid_request'],
    [{ scope: 'a\\b' }, 'invalid_scope'],
    [{ scope: 'ä' }, 'invalid_scope'],
    [{ resource: 'https://orders.example#part' }, 'invalid_target'],
    [{ resource: 'orders' }, 'invalid_target'],
    [{ resource: `https://orders.example/${'x'.repeat(1_024)}` }, 'invalid_target'],
    [{ login_hint: 'x'.repeat(321) }, 'invalid_request'],
    [{ organization: 'x'.repeat(256) }, 'invalid_request'],
    [{ dpop_jkt: 'k'.repeat(43) }, 'none'],
    [{ dpop_jkt: 'k'.repeat(42) }, 'invalid_request'],
    [{ dpop_jkt: `${'k'.repeat(42)}=` }, 'invalid_request'],
    [{ authorization_details: '[]' }, 'invalid_authorization_details'],
    [{ authorization_details: '[{}]' }, 'invalid_authorization_details'],
    [{ authorization_details: '[{"type":"any"}]' }, 'none'],
  ];
  for (const [changes, expected] of cases)
    it(`${JSON.stringify(changes).slice(0, 60)}: ${expected}`, () =>
      assert.equal(errorOf(changes), expected));
});

describe('equivalentUris', () => {
  const cases: [string, readonly string[]][] = [
    ['https://a.example', ['https://a.example', 'https://a.example/']],
    ['HTTPS://A.Example/', ['https://a.example/', 'https://a.example']],
    ['https://A.example/Orders', ['https://a.example/Orders']],
    ['https://a.example/orders/', ['https://a.example/orders/']],
    ['https://a.example?X=1', ['https://a.example?X=1']],
  ];
  for (const [given, spellings] of cases)
    it(`${given}: ${spellings.join(' ')}`, () => assert.deepEqual(equivalentUris(given), spellings));
});

describe('the client and its redirect URI', () => {
  it('are given once', () => {
    assert.equal(readClientId({ client_id: 'a' }), 'a');
    assert.equal(readRedirectUri({}), undefined);
    for (const parameters of [
      {},
      { client_id: '' },
      { client_id: ['a', 'a'] },
      { client_id: 'a'.repeat(2_049) },
    ])
      assert.throws(() => readClientId(parameters), UnusableRequest);
    assert.throws(() => readRedirectUri({ redirect_uri: ['a', 'a'] }), UnusableRequest);
  });
  it('inherited names are no parameters', () => {
    assert.throws(() => readClientId(Object.create({ client_id: 'a' })), UnusableRequest);
  });
});

describe('an answer to the client', () => {
  const back = { redirectUri: 'https://app.example/cb?x=1', state: 'a b&c' };
  it('keeps the redirect URI as it is, and adds code, state and iss', () => {
    assert.equal(
      codeAddress(back, 'the-code', issuer),
      'https://app.example/cb?x=1&code=the-code&state=a+b%26c&iss=https%3A%2F%2Fcountersign.test',
    );
    const plain = { redirectUri: 'http://[::1]:5/cb', state: null };
    assert.equal(
      codeAddress(plain, 'c', issuer),
      'http://[::1]:5/cb?code=c&iss=https%3A%2F%2Fcountersign.test',
    );
  });
  it('has the error and its description', () => {
    const url = new URL(
      errorAddress(back, new AuthorizationError('access_denied', 'the person refused'), issuer),
    );
    assert.equal(url.searchParams.get('error'), 'access_denied');
    assert.equal(url.searchParams.get('error_description'), 'the person refused');
    assert.equal(url.searchParams.get('state'), 'a b&c');
  });
  it('leaves out a state that cannot be read', () => {
    assert.equal(readState({ state: ['a', 'b'] }), null);
    assert.equal(readState({ state: 'x'.repeat(1_025) }), null);
    assert.equal(readState({ state: 'x' }), 'x');
  });
  it('hosts are shown without a port', () => {
    assert.equal(hostOf('http://localhost:8080/cb'), 'localhost');
    assert.equal(hostOf('https://app.example/cb'), 'app.example');
  });
});

describe('the successor of a refresh token', () => {
  const token = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((bytes) => `csr_${Buffer.from(bytes).toString('base64url')}`);
  it('is read with the used token, and with no other', () => {
    fc.assert(
      fc.property(token, token, token, (used, successor, other) => {
        const hidden = hideSuccessor(successor, used);
        assert.equal(revealSuccessor(hidden, used), successor);
        if (other !== used) assert.notEqual(revealSuccessor(hidden, other), successor);
        assert.notEqual(`csr_${hidden.toString('base64url')}`, successor);
      }),
    );
  });
});
