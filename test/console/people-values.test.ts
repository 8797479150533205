/** The logic behind the consent page and the forms for people, connections and clients. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requestIdOf } from '../../console/src/app/authorize-address.ts';
import { emptyFields } from '../../console/src/components/required-fields.ts';
import {
  isClientAddress,
  isThisComputer,
  requestSignIn,
} from '../../console/src/pages/authorize/addresses.ts';
import { approvalOf, durations, endOf, firstChoice } from '../../console/src/pages/authorize/consent-form.ts';
import { hostOf, nameOf } from '../../console/src/pages/my-agents/consent-words.ts';
import { policyOf, policyProblems } from '../../console/src/pages/organization/clients/client-policy.ts';
import {
  changeOf,
  newConnectionOf,
  problemsOf,
  requiredOf as requiredOfConnection,
  signInAddress,
  valuesOf,
} from '../../console/src/pages/organization/connections/connection-values.ts';
import {
  invitationOf,
  newInvitation,
  requiredOf as requiredOfInvitation,
} from '../../console/src/pages/organization/people/invitation.ts';

const missingIn = (values: ReturnType<typeof newInvitation>) =>
  Object.keys(emptyFields(requiredOfInvitation(values), values)).sort();
const id = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';

describe('addresses of the consent page', () => {
  it('the request id is the last part of the path, and of no other path', () => {
    assert.equal(requestIdOf(`/console/authorize/${id}`), id);
    assert.equal(requestIdOf(`/console/authorize/${id}/`), id);
    assert.equal(requestIdOf('/console/authorize/a%2Fb'), 'a/b');
    for (const path of [
      '/console',
      '/console/authorize',
      '/console/authorize/',
      '/console/authorize/%E0%A4%A',
      `/console/authorize/${id}/more`,
      `/other/console/authorize/${id}`,
    ])
      assert.equal(requestIdOf(path), undefined, path);
  });

  it('the browser goes to https and to this computer only', () => {
    for (const address of [
      'https://app.example/callback?code=1',
      'http://127.0.0.1:8123/callback',
      'http://localhost/callback',
      'http://[::1]:1/callback',
    ])
      assert.equal(isClientAddress(address), true, address);
    for (const address of [
      'http://app.example/callback',
      'http://127.0.0.1.evil.example/',
      'http://localhost.evil.example/',
      'http://127.0.0.2/',
      'javascript:alert(1)//https://app.example',
      'data:text/html,x',
      'file:///etc/passwd',
      'https://user:password@app.example/',
      'https://user@app.example/',
      '//app.example/callback',
      '/console',
      '',
    ])
      assert.equal(isClientAddress(address), false, address);
  });

  it('loopback hosts, as the server names them', () => {
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '[::1]', '::1'])
      assert.equal(isThisComputer(host), true, host);
    for (const host of ['app.example', 'localhost.example', '127.0.0.1.example', '10.0.0.1', ''])
      assert.equal(isThisComputer(host), false, host);
  });

  it('a sign-in names the request, the connection if there is one, and asks for another account', () => {
    const start = '/console/api/oidc/start';
    const first = { connectionId: 'c', switching: false };
    assert.equal(requestSignIn('r&1', first), `${start}?connectionId=c&requestId=r%261`);
    assert.equal(requestSignIn('r', { switching: false }), `${start}?requestId=r`);
    assert.equal(requestSignIn('r', { switching: true }), `${start}?requestId=r&prompt=select_account`);
  });
});

describe('a consent', () => {
  const question = {
    scopes: [
      { name: 'a', description: null },
      { name: 'b', description: 'B' },
    ],
  };

  it('begins with all scopes for 30 days, without passing on', () => {
    assert.deepEqual(approvalOf(question, firstChoice(question)), {
      decision: 'approve',
      scopes: ['a', 'b'],
      expiresIn: 2_592_000,
      allowRedelegation: false,
    });
    assert.deepEqual(
      durations.map(({ value }) => Number(value)),
      [3_600, 86_400, 2_592_000, 7_776_000],
    );
  });

  it('is none without a scope, and has no scope that was not offered', () => {
    const choice = { scopes: [], expiresIn: '3600', allowRedelegation: true };
    assert.equal(approvalOf(question, choice), undefined);
    assert.equal(approvalOf(question, { ...choice, scopes: ['c'] }), undefined);
    assert.deepEqual(approvalOf(question, { ...choice, scopes: ['c', 'b', 'a'] }), {
      decision: 'approve',
      scopes: ['a', 'b'],
      expiresIn: 3_600,
      allowRedelegation: true,
    });
  });

  it('ends at a time that people can read', () => {
    assert.equal(endOf('86400', Date.parse('2026-11-18T12:34:56Z')), '2026-11-19 12:34 UTC');
  });

  it('is named by the document, then by the agent; the host is that of the document', () => {
    assert.equal(nameOf({ clientName: 'App', agentName: 'a@b' }), 'App');
    assert.equal(nameOf({ clientName: null, agentName: 'a@b' }), 'a@b');
    assert.equal(hostOf('https://app.example:8443/client.json'), 'app.example');
    assert.equal(hostOf('no address'), undefined);
    assert.equal(hostOf(null), undefined);
  });
});

describe('an invitation', () => {
  it('by e-mail where there is a connection: a member without an agent, and no subject', () => {
    const values = newInvitation([{ connectionId: id }], 'https://own.example');
    assert.deepEqual(missingIn(values), ['email', 'name']);
    const filled = { ...values, name: 'Ada', email: ' ada@example.com ' };
    assert.deepEqual(missingIn(filled), []);
    assert.deepEqual(invitationOf(filled), {
      email: 'ada@example.com',
      connectionId: id,
      name: 'Ada',
      role: 'member',
    });
    assert.deepEqual(missingIn({ ...filled, role: 'admin' }), ['agentId']);
    assert.equal(invitationOf({ ...filled, role: 'admin', agentId: 'agent' }).agentId, 'agent');
  });

  it("by issuer and subject of the instance's own provider otherwise", () => {
    const values = newInvitation([], 'https://own.example');
    assert.deepEqual(missingIn(values), ['agentId', 'name', 'subject']);
    const filled = { ...values, name: 'Ada', subject: ' 1 ', agentId: 'agent' };
    assert.deepEqual(invitationOf(filled), {
      issuer: 'https://own.example',
      subject: '1',
      name: 'Ada',
      role: 'viewer',
      agentId: 'agent',
    });
  });
});

describe('a connection', () => {
  const connection = {
    connectionId: id,
    organizationId: id,
    name: 'Company',
    issuer: 'https://login.example',
    clientId: 'client',
    scopes: ['openid'],
    conditions: [{ claim: 'hd', operator: 'exists' as const }],
    idJag: true,
    status: 'active' as const,
    createdAt: '',
    updatedAt: '',
  };

  it('a change keeps the secret unless it is typed, and never has the issuer', () => {
    const values = valuesOf(connection);
    assert.deepEqual(changeOf(values), {
      name: 'Company',
      clientId: 'client',
      scopes: ['openid'],
      conditions: [{ claim: 'hd', operator: 'exists' }],
      idJag: true,
    });
    assert.equal(changeOf({ ...values, clientSecret: ' s ' }).clientSecret, ' s ');
    assert.deepEqual(problemsOf(values), {});
    assert.deepEqual(emptyFields(requiredOfConnection(false), { ...values, clientSecret: '' }), {});
  });

  it('a new one needs everything, and asks for openid, email and profile', () => {
    const values = valuesOf(undefined);
    assert.deepEqual(Object.keys(emptyFields(requiredOfConnection(true), values)).sort(), [
      'clientId',
      'clientSecret',
      'issuer',
      'name',
    ]);
    assert.deepEqual(newConnectionOf({ ...values, name: ' A ', issuer: ' https://login.example ' }), {
      name: 'A',
      issuer: 'https://login.example',
      clientId: '',
      clientSecret: '',
      scopes: ['openid', 'email', 'profile'],
      conditions: [],
    });
    assert.deepEqual(Object.keys(problemsOf({ ...valuesOf(connection), scopes: ['email'] })), ['scopes']);
  });

  it('people sign in at an address of the instance', () => {
    assert.equal(
      signInAddress('https://id.example', id),
      `https://id.example/console/sign-in?connectionId=${id}`,
    );
  });
});

describe('a client policy', () => {
  it('domains belong to one mode, which needs one', () => {
    assert.deepEqual(policyOf({ mode: 'off', domains: ['a.example'] }), { mode: 'off' });
    const limited = { mode: 'domains' as const, domains: ['a.example'] };
    assert.deepEqual(policyOf(limited), limited);
    assert.deepEqual(policyProblems(limited), {});
    assert.deepEqual(Object.keys(policyProblems({ mode: 'domains', domains: [] })), ['domains']);
    assert.deepEqual(policyProblems({ mode: 'any', domains: [] }), {});
  });
});
