import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ownScopes } from './subject-scopes.ts';

it('of our own API: the scopes that the subject may hold, without the operator’s', () => {
  const allowedScopes = ['audit:read', 'admin:orgs', 'agents:read'];
  assert.deepEqual(ownScopes({ allowedScopes } as never).toSorted(), ['agents:read', 'audit:read']);
  assert.deepEqual(ownScopes(undefined), []);
});
