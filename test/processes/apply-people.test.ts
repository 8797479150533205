/** `countersign apply` for connections, client policies, the roles of people, and what people may lend at a resource. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { agentText, everyScope, startApplyServer } from '../support/scenarios/apply.ts';

const server = await startApplyServer();
const { folder, countersign, fileWith, api, newClient, applied } = server;
const issuer = 'https://login.acme.example';

/** An organization, a client that is its admin, and apply with that client. */
async function newOrganization(slug: string) {
  const { client, organizationId, agentId } = await newClient(slug, everyScope, 'admin');
  const path = `/organizations/${organizationId}`;
  return {
    slug,
    organizationId,
    agentId,
    path,
    client,
    apply: (text: string, ...options: string[]) =>
      countersign(['apply', '-f', fileWith(`version: 1\n${text}`), ...options], { client }),
    connection: async (name = 'Login') =>
      (await api('POST', `${path}/connections`, { name, issuer, clientId: name, clientSecret: 'secret' }))
        .connectionId as string,
    invite: async (person: object) =>
      (await api('POST', `${path}/people`, { name: 'Ada', role: 'member', ...person })).personId as string,
    person: async (personId: string) =>
      (await api('GET', `${path}/people`)).data.find(
        (one: { personId: string }) => one.personId === personId,
      ),
    events: async (action: string) =>
      (await api('GET', `/audit?action=${action}&organizationId=${organizationId}`)).data,
  };
}

describe('connections', () => {
  const text = (more = '') => `connections:
  - name: Login
    issuer: ${issuer}
    clientId: countersign
    clientSecret: {file: ../secrets/login.txt}
    conditions: [{claim: hd, operator: equals, values: [acme.example]}]
${more}`;
  mkdirSync(join(folder, 'identity'));
  mkdirSync(join(folder, 'secrets'));
  const secretFile = join(folder, 'secrets', 'login.txt');
  writeFileSync(secretFile, 'hush-1\n');
  const file = join(folder, 'identity', 'connections.yaml');

  it('are created with the secret of a file beside the identity file, and then have no difference', async () => {
    const { client, path, connection, events } = await newOrganization('connected');
    const run = async (more: string, ...options: string[]) => {
      writeFileSync(file, `version: 1\n${text(more)}`);
      const result = await countersign(['apply', '-f', file, ...options], { client });
      assert.doesNotMatch(result.output, /hush/, 'the secret is printed nowhere');
      return result;
    };
    const planned = await run('', '--plan');
    assert.equal(planned.code, 7, planned.output);
    assert.match(planned.stdout, /^\+ connection Login \(https:\/\/login\.acme\.example\) /m);
    assert.match(planned.stdout, /^ {4}clientSecret +from the file \.\.\/secrets\/login\.txt$/m);
    const made = await run('    status: disabled\n', '--yes', '--json');
    assert.equal(made.code, 0, made.output);
    const { data } = await api('GET', `${path}/connections`);
    assert.deepEqual(
      data.map((one: Record<string, unknown>) => [one.name, one.clientId, one.status, one.scopes]),
      [['Login', 'countersign', 'disabled', ['openid', 'email', 'profile']]],
    );
    for (const options of [['--plan'], ['--yes']])
      assert.match((await run('    status: disabled\n', ...options)).stdout, /^No difference\.$/m);

    const changed = await run('    status: active\n    idJag: true\n', '--yes');
    assert.match(changed.stdout, /^ {4}status +disabled → active$/m);
    assert.match(changed.stdout, /^ {4}idJag +false → true$/m);
    assert.doesNotMatch(changed.stdout, /clientSecret/);
    const secret = async () =>
      (await events('connection.updated')).filter(({ metadata }: { metadata: { changed: string[] } }) =>
        metadata.changed.includes('clientSecret'),
      ).length;
    assert.equal(await secret(), 0, 'a secret that may be the same is not sent');
    const sent = await run('', '--send-secrets', '--yes');
    assert.match(sent.stdout, /^ {4}clientSecret +none → from the file/m, sent.output);
    assert.equal(await secret(), 1);

    await connection('Other');
    const kept = await run('', '--plan');
    assert.equal(kept.code, 0, 'nothing is deleted without --prune');
    const pruned = await run('', '--prune', '--yes');
    assert.match(
      pruned.stdout,
      /^- connection Other .*\n {4}the sessions that began through it end/m,
      pruned.output,
    );
    assert.equal((await api('GET', `${path}/connections`)).total, 1);
  });

  it('change their client id by id, with its secret, and are exported without one', async () => {
    const { path, connection, apply, client, organizationId } = await newOrganization('renamed');
    const id = await connection();
    const entry = `connections:\n  - {id: ${id}, name: Login, issuer: ${issuer}, clientId: new, clientSecret: {env: LOGIN_SECRET}}\n`;
    const missing = await apply(entry, '--yes');
    assert.equal(missing.code, 1);
    assert.match(missing.output, /:3:\d+: there is no secret in the variable LOGIN_SECRET/);
    const changed = await countersign(['apply', '-f', fileWith(`version: 1\n${entry}`), '--yes'], {
      client,
      variables: { LOGIN_SECRET: 'hush' },
    });
    assert.equal(changed.code, 0, changed.output);
    assert.match(changed.stdout, /^ {4}clientId +Login → new$/m);
    assert.match(changed.stdout, /^ {4}clientSecret +none → from the variable LOGIN_SECRET$/m);
    assert.doesNotMatch(changed.output, /hush/);
    assert.equal((await api('GET', `${path}/connections/${id}`)).clientId, 'new');
    const twice = await apply(
      `${entry}  - {name: Login, issuer: ${issuer}, clientId: new}\n`.replace(/, clientSecret: \{.*?\}/, ''),
      '--plan',
    );
    assert.match(twice.output, /:4:\d+: an earlier entry has this connection/);

    await api('PUT', `${path}/client-policy`, { mode: 'off' });
    const exported = await countersign(['export'], { client });
    assert.match(exported.stdout, /^connections:\n {2}- name: Login\n {4}issuer: /m);
    assert.match(exported.stdout, /^clientPolicies:\n {2}- mode: off\n/m);
    assert.doesNotMatch(exported.stdout, /clientSecret|^people:/m);
    const again = await countersign(['apply', '-f', '-', '--plan', '--prune'], {
      client,
      input: exported.stdout,
    });
    assert.equal(again.code, 0, again.output);
    const ofOther = await countersign(['export', '--organization', organizationId]);
    assert.match(ofOther.stdout, /^ {2}- organization: renamed\n {4}name: Login$/m);
  });

  const login = `name: Login, issuer: ${issuer}, clientId: c`;
  const cases: [string, string, RegExp][] = [
    [
      'a new connection without a secret',
      `{${login}}`,
      /:3:5: a new connection needs clientSecret: the name of/,
    ],
    ['a secret in the file', `{${login}, clientSecret: hush}`, /clientSecret must be a map/],
    [
      'two places of a secret',
      `{${login}, clientSecret: {env: A, file: b}}`,
      /clientSecret must have at most 1 field/,
    ],
    [
      'a secret of the client itself',
      `{${login}, clientSecret: {env: COUNTERSIGN_CLIENT_SECRET}}`,
      /the variable COUNTERSIGN_CLIENT_SECRET is one of this program/,
    ],
    [
      'a file that is missing',
      `{${login}, clientSecret: {file: nowhere}}`,
      /:3:\d+: cannot read .*nowhere: ENOENT/,
    ],
    [
      'an unknown id',
      `{${login}, id: 7c9e6679-7425-40de-944b-e07fc1f90ae7}`,
      /has no connection with this id/,
    ],
    [
      'the same connection twice',
      `&c {${login}, clientSecret: {env: PATH}}\n  - *c`,
      /an earlier entry has this connection/,
    ],
  ];
  for (const [what, entry, expected] of cases)
    it(`1 for ${what}`, async () => {
      const { code, output } = await applied(`version: 1\nconnections:\n  - ${entry}\n`, '--yes');
      assert.equal(code, 1, output);
      assert.match(output, expected);
      assert.doesNotMatch(output, /\n\s+at |hush/);
    });

  it('1 when the issuer of a connection would change', async () => {
    const { connection, apply } = await newOrganization('moved');
    const id = await connection();
    const { code, output } = await apply(
      `connections:\n  - {id: ${id}, name: Login, issuer: https://other.example, clientId: Login}\n`,
      '--yes',
    );
    assert.equal(code, 1);
    assert.match(output, /the issuer of a connection cannot change/);
  });
});

describe('client policies', () => {
  it('are set, also of an organization that the file creates, and keep domains that are left out', async () => {
    const text = (mode: string) => `version: 1
organizations:
  - {slug: policed, name: Policed}
clientPolicies:
  - {organization: policed, ${mode}}
`;
    const made = await applied(text('mode: domains, domains: [Example.com]'), '--yes');
    assert.equal(made.code, 0, made.output);
    assert.match(
      made.stdout,
      /^~ client policy of policed\n {4}mode +any → domains\n {4}domains +\+ example\.com$/m,
    );
    assert.equal((await applied(text('mode: domains, domains: [Example.com]'), '--plan')).code, 0);
    assert.equal((await applied(text('mode: approval'), '--yes')).code, 0);
    const { organizationId } = (await api('GET', '/organizations?limit=100')).data.find(
      ({ slug }: { slug: string }) => slug === 'policed',
    );
    assert.deepEqual(await api('GET', `/organizations/${organizationId}/client-policy`), {
      mode: 'approval',
      domains: ['example.com'],
    });
    assert.equal((await applied(text('mode: approval'), '--plan', '--prune')).code, 0);
    const twice = await applied(text('mode: off}\n  - {organization: policed, mode: any'), '--plan');
    assert.match(twice.output, /:6:5: an earlier entry has the client policy of policed/);
  });

  it('1 for a client that may not manage people', async () => {
    const { client } = await newClient('unprivileged', everyScope);
    const file = fileWith('version: 1\nclientPolicies:\n  - {mode: off}\n');
    const { code, output } = await countersign(['apply', '-f', file, '--yes'], { client });
    assert.equal(code, 1);
    assert.match(output, /:3:5: this client may not manage the people of .*; it needs the role admin there/);
  });
});

describe('approval policies', () => {
  it('are set, also of an organization that the file creates, and keep fields that are left out', async () => {
    const text = (fields: string) => `version: 1
organizations:
  - {slug: approving, name: Approving}
approvalPolicies:
  - {organization: approving, ${fields}}
`;
    const first = text('maxAccessSeconds: 900, requireTwo: [https://pay.example]');
    const made = await applied(first, '--yes');
    assert.equal(made.code, 0, made.output);
    assert.match(
      made.stdout,
      /^~ approval policy of approving\n {4}maxAccessSeconds +86400 → 900\n {4}requireTwo +\+ https:\/\/pay\.example$/m,
    );
    assert.equal((await applied(first, '--plan')).code, 0);
    assert.equal((await applied(text('selfApproval: true'), '--yes')).code, 0);
    const { organizationId } = (await api('GET', '/organizations?limit=100')).data.find(
      ({ slug }: { slug: string }) => slug === 'approving',
    );
    const policy = { maxAccessSeconds: 900, selfApproval: true, requireTwo: ['https://pay.example'] };
    assert.deepEqual(await api('GET', `/organizations/${organizationId}/approval-policy`), policy);
    const exported = await countersign(['export', '--organization', organizationId]);
    assert.match(
      exported.stdout,
      /^approvalPolicies:\n {2}- organization: approving\n {4}maxAccessSeconds: 900\n {4}selfApproval: true$/m,
    );
    const again = await countersign(['apply', '-f', '-', '--plan'], { input: exported.stdout });
    assert.equal(again.code, 0, again.output);
    const twice = await applied(text('selfApproval: true}\n  - {organization: approving'), '--plan');
    assert.match(twice.output, /:6:5: an earlier entry has the approval policy of approving/);
    const wrong = await applied(text('maxAccessSeconds: 5'), '--plan');
    assert.match(wrong.output, /maxAccessSeconds must be/);
  });
});

describe('people', () => {
  it('change their role, agent and status, however an entry names them; a second run changes nothing', async () => {
    const { connection, invite, apply, person } = await newOrganization('staffed');
    const connectionId = await connection('Acme Login');
    const byEmail = await invite({ email: 'ada@acme.example', connectionId });
    const bySubject = await invite({ issuer, subject: '42' });
    const byId = await invite({ issuer, subject: '43' });
    const text = `agents:${agentText('desk@staffed.example')}people:
  - {email: Ada@acme.example, connection: Acme Login, role: admin, agent: desk@staffed.example}
  - {issuer: ${issuer}, subject: "42", role: viewer, agent: desk@staffed.example}
  - {id: ${byId.toUpperCase()}, status: suspended}
`;
    const made = await apply(text, '--yes');
    assert.equal(made.code, 0, made.output);
    assert.match(
      made.stdout,
      /^~ person Ada \(ada@acme\.example\) .*\n {4}role +member → admin\n {4}agent +none → desk@staffed\.example$/m,
    );
    assert.match(made.stdout, /^~ person Ada \(43\) .*\n {4}CANNOT BE UNDONE: the person's sessions end/m);
    const [first, second, third] = [await person(byEmail), await person(bySubject), await person(byId)];
    assert.deepEqual([first.role, second.role, third.role], ['admin', 'viewer', 'member']);
    assert.deepEqual([first.status, third.status], ['active', 'suspended']);
    assert.ok(first.agentId && first.agentId === second.agentId);
    assert.match((await apply(text, '--yes')).stdout, /^No difference\.$/m);

    const changed = await apply(
      `people:
  - {email: ada@acme.example, connection: ${connectionId}, role: member}
  - {issuer: ${issuer}, subject: "42", role: admin}
  - {id: ${byId}, status: removed}
`,
      '--yes',
      '--prune',
    );
    assert.equal(changed.code, 0, changed.output);
    assert.match(changed.stdout, /^ {4}agent +\S+ → none$/m);
    assert.match(changed.stdout, /^- person Ada \(43\)/m);
    assert.match(changed.stdout, /^2 to change, 1 to delete\.$/m, 'people are never pruned');
    assert.equal((await person(byEmail)).agentId, null);
    assert.equal((await person(bySubject)).role, 'admin');
    assert.equal(await person(byId), undefined);
    const gone = await apply(`people:\n  - {issuer: ${issuer}, subject: "43", status: removed}\n`, '--plan');
    assert.equal(gone.code, 0, gone.output);
  });

  it('1 with the position of an entry that matches no person, several people, or something that cannot be', async () => {
    const { path, connection, invite, apply } = await newOrganization('puzzled');
    const connectionId = await connection();
    await connection('Twice');
    await api('POST', `${path}/connections`, { name: 'Twice', issuer, clientId: 'x', clientSecret: 'y' });
    const personId = await invite({ email: 'ada@acme.example', connectionId });
    for (const [entry, expected] of [
      [
        `{issuer: ${issuer}, subject: "1", role: member}`,
        /:3:5: organization .* has no such person; a file invites no people/,
      ],
      ['{email: ada@acme.example, role: member}', /:3:5: a person needs id, or issuer and subject, or email/],
      [
        `{id: ${personId}, issuer: ${issuer}, subject: "1"}`,
        /a person needs id, or issuer and subject, or email/,
      ],
      ['{role: admin}', /a person needs id, or issuer/],
      ['{email: ada@acme.example, connection: Logon, role: member}', /has no connection Logon yet/],
      ['{email: ada@acme.example, connection: Twice, role: member}', /2 connections of .* are named Twice/],
      [`{id: ${personId}, role: admin}`, /:3:\d+: the role admin needs agent/],
      [`{id: ${personId}, role: member, agent: a@example.com}`, /a member acts through no agent/],
      [`{id: ${personId}, role: admin, agent: no@example.com}`, /there is no agent no@example\.com/],
      [`&p {id: ${personId}}\n  - *p`, /an earlier entry has the person Ada/],
      [`{id: ${personId}, role: owner}`, /role must be one of admin, viewer, member/],
    ] as const) {
      const { code, output } = await apply(`people:\n  - ${entry}\n`, '--yes');
      assert.equal(code, 1, output);
      assert.match(output, expected);
    }
  });

  it('1 when another client has changed the person since the plan', async () => {
    const { client, path, invite, person, agentId } = await newOrganization('raced');
    const personId = await invite({ issuer, subject: '1' });
    const file = fileWith(`version: 1\npeople:\n  - {id: ${personId}, status: removed}\n`);
    let reads = 0;
    const url = await server.startProxy(async ({ method, url: asked }) => {
      if (method !== 'GET' || !asked?.includes(`${path}/people`)) return undefined;
      reads += 1;
      // The second time it is read before the change.
      if (reads === 2) await api('PATCH', `${path}/people/${personId}`, { role: 'viewer', agentId });
      return undefined;
    });
    const { code, output } = await countersign(['apply', '-f', file, '--yes'], { client, url });
    assert.equal(code, 1, output);
    assert.match(
      output,
      /was changed by another client since the plan was made: role was member and is now viewer/,
    );
    assert.equal((await person(personId)).role, 'viewer');
  });
});

describe('what people may lend at a resource', () => {
  it('is managed: peopleScopes, approvers and claims', async () => {
    const { apply, invite, client } = await newOrganization('lending');
    const personId = await invite({ issuer, subject: '1' });
    const text = (more: string) =>
      `resources:\n  - {identifier: https://lending.example, name: L, scopes: [a, b], ${more}}\n`;
    const first = await apply(text(`peopleScopes: [a], claims: [personEmail]`), '--yes');
    assert.equal(first.code, 0, first.output);
    const full = text(`peopleScopes: [b], approvers: [${personId.toUpperCase()}], claims: [personSubject]`);
    const changed = await apply(full, '--yes');
    assert.equal(changed.code, 0, changed.output);
    assert.match(changed.stdout, /^ {4}peopleScopes +\+ b, - a$/m);
    assert.match(changed.stdout, /^ {4}approvers +\+ [0-9a-f-]{36}$/m);
    assert.equal((await apply(full, '--plan')).code, 0);
    const [resource] = (await api('GET', '/resources?q=lending.example')).data;
    assert.deepEqual(
      [resource.peopleScopes, resource.approvers, resource.claims],
      [['b'], [personId], ['personSubject']],
    );
    const exported = await countersign(['export'], { client });
    assert.match(exported.stdout, /peopleScopes:\n +- b\n/);

    const wrong = await apply(text('peopleScopes: [c]'), '--plan');
    assert.equal(wrong.code, 1);
    assert.match(wrong.output, /:3:\d+: c is not a scope of the API/);
    const nobody = await apply(text('approvers: [ada]'), '--plan');
    assert.match(nobody.output, /:3:\d+: approvers must be: the personId of a person/);
  });

  it('is managed: authorizationDetailTypes', async () => {
    const { apply, client } = await newOrganization('details');
    const text = (type: string) =>
      `resources:\n  - {identifier: https://details.example, name: D, scopes: [a], authorizationDetailTypes: [${type}]}\n`;
    const payment = '{type: payment, schema: {required: [amount], properties: {amount: {type: number}}}}';
    const first = await apply(text(payment), '--yes');
    assert.equal(first.code, 0, first.output);
    const read = async () =>
      (await api('GET', '/resources?q=details.example')).data[0].authorizationDetailTypes;
    const schema = { required: ['amount'], properties: { amount: { type: 'number' } } };
    assert.deepEqual(await read(), [{ type: 'payment', description: null, schema }]);
    const again = await apply(text(payment), '--plan');
    assert.equal(again.code, 0, again.output);
    const exported = await countersign(['export'], { client });
    assert.match(exported.stdout, /authorizationDetailTypes:\n +- type: payment\n/);
    const changed = await apply(text('{type: payment, description: Pay, schema: {}}'), '--yes');
    assert.equal(changed.code, 0, changed.output);
    assert.match(changed.stdout, /^ {4}authorizationDetailTypes /m);
    assert.deepEqual(await read(), [{ type: 'payment', description: 'Pay', schema: {} }]);
    const slow = await apply(text('{type: payment, schema: {pattern: "(a+)+$"}}'), '--yes');
    assert.equal(slow.code, 1);
    assert.match(slow.output, /authorizationDetailTypes\[0\]\.schema \/pattern repeats a group/);
  });
});
