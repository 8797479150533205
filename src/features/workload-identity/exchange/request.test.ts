import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TokenError } from '../../../kernel/fail.ts';
import { parseExchange } from './request.ts';

const issuer = 'https://id.test';
const form = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token: 'text',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
};
const parse = (changes: object = {}, query = {}) =>
  parseExchange({ ...form, ...changes } as never, query, issuer);

describe('the form of an exchange', () => {
  it('names a token for our own API, or for a resource', () => {
    const expected = { token: 'text', agentId: undefined, scope: undefined, audience: issuer };
    assert.deepEqual(parse(), expected);
    assert.deepEqual(parse({ audience: issuer, resource: '' }), expected);
    const accessToken = 'urn:ietf:params:oauth:token-type:access_token';
    assert.deepEqual(parse({ requested_token_type: accessToken }), expected);
    const resource = 'https://api.test/v1';
    assert.equal(parse({ resource, audience: resource }).audience, resource);
    const idToken = 'urn:ietf:params:oauth:token-type:id_token';
    assert.equal(parse({ subject_token_type: idToken }).token, 'text');
  });
  for (const [code, changes, query] of [
    ['invalid_request', {}, { scope: 'x' }],
    ['unsupported_grant_type', { grant_type: 'client_credentials' }, {}],
    ['invalid_request', { subject_token: '' }, {}],
    ['invalid_request', { subject_token_type: undefined }, {}],
    ['invalid_request', { actor_token: '' }, {}],
    ['invalid_request', { requested_token_type: 'x' }, {}],
    ['invalid_target', { resource: 'https://api.test/#a' }, {}],
    ['invalid_target', { audience: 'https://api.test/' }, {}],
  ] as const)
    it(`400 ${code} for ${JSON.stringify({ ...changes, ...query })}`, () =>
      assert.throws(
        () => parse(changes, query),
        (error) => error instanceof TokenError && error.code === code,
      ));
});
