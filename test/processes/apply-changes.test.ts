/** `countersign apply` against a running server: deletions, failures, changes by others, secrets, limits, and `countersign export`. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { listen } from '../support/clients/listening.ts';
import { execute, startOfMinute } from '../support/harness.ts';
import { freePort } from '../support/programs.ts';
import { agentText, everyScope, startApplyServer } from '../support/scenarios/apply.ts';

const server = await startApplyServer();
const { folder, countersign, fileWith, applied, api, agentBy, newClient, startProxy } = server;

describe('--prune', () => {
  it('deletes what the file lacks, in its organizations and of its kinds, and never the client', async () => {
    const { client, agentId } = await newClient('pruned', everyScope, 'admin');
    const other = await newClient('unpruned', everyScope);
    const full = `version: 1
agents:${agentText('keep@pruned.example')}${agentText('drop@pruned.example')}
resources:
  - {identifier: https://keep.pruned.example, name: Keep, scopes: [a, b], shares: [{organization: ${other.organizationId}, scopes: [a]}]}
  - {identifier: https://drop.pruned.example, name: Drop, scopes: [a]}
grants:
  - {agent: keep@pruned.example, resource: https://keep.pruned.example, scopes: [a]}
  - {agent: keep@pruned.example, resource: https://drop.pruned.example, scopes: [a]}
  - {agent: drop@pruned.example, resource: https://keep.pruned.example, scopes: [a]}
trustPolicies:
  - {agent: keep@pruned.example, name: old, provider: github, audiences: [x], subject: "repo:acme/a:ref:refs/heads/main", scopes: []}
webhooks:
  - {name: W, url: https://hooks.example.com/secret-path, events: ["*"]}
`;
    const made = await countersign(['apply', '-f', fileWith(full), '--yes'], { client });
    assert.equal(made.code, 0, made.output);

    const some = fileWith(`version: 1
agents:${agentText('keep@pruned.example')}
resources:
  - {identifier: https://keep.pruned.example, name: Keep, scopes: [a, b], shares: []}
trustPolicies:
  - {agent: keep@pruned.example, name: new, provider: github, audiences: [x], subject: "repo:acme/a:ref:refs/heads/main", scopes: []}
`);
    const without = await countersign(['apply', '-f', some, '--plan'], { client });
    assert.match(without.stdout, /^1 to create\.$/m, 'nothing is deleted without --prune');
    const { code, stdout, output } = await countersign(['apply', '-f', some, '--prune', '--yes'], { client });
    assert.equal(code, 0, output);
    assert.match(stdout, /^- agent drop@pruned\.example/m);
    assert.match(stdout, /CANNOT BE UNDONE: the agent is decommissioned for good/);
    assert.match(stdout, /^- API https:\/\/drop\.pruned\.example/m);
    assert.match(stdout, /^- share of https:\/\/keep\.pruned\.example with /m);
    assert.match(stdout, /^- trust policy old of keep@pruned\.example$/m);
    assert.doesNotMatch(stdout, /webhook|secret-path/, 'the file has no key webhooks');
    assert.match(stdout, /^1 to create, 4 to delete\.$/m);
    assert.equal((await agentBy('drop@pruned.example')).status, 'decommissioned');
    for (const id of [agentId, other.agentId])
      assert.equal((await api('GET', `/agents/${id}`)).status, 'active');
    const again = await countersign(['apply', '-f', some, '--prune', '--plan'], { client });
    assert.equal(again.code, 0, again.output);

    const grants = fileWith(
      `version: 1\nagents:${agentText('keep@pruned.example')}\ngrants: []\nwebhooks: []\n`,
    );
    const rest = await countersign(['apply', '-f', grants, '--prune', '--yes'], { client });
    assert.match(rest.stdout, /^- grant of https:\/\/keep\.pruned\.example to keep@pruned\.example$/m);
    assert.match(rest.stdout, /^- webhook W \(https:\/\/hooks\.example\.com\/…\)/m);
    assert.doesNotMatch(rest.output, /secret-path/);
    assert.match(rest.stdout, /^2 to delete\.$/m, 'not the grant of a decommissioned agent');
  });

  it('manages redirect URIs, and leaves agents of clients with a metadata document alone, as export does', async () => {
    const { client, organizationId } = await newClient('redirected', everyScope, 'admin');
    const text = (uri: string) =>
      `version: 1\nagents:${agentText('app@redirected.example', `    publicClient: true\n    dpopBoundAccessTokens: true\n    redirectUris: [${uri}]\n    notificationUri: ${uri}\n`)}${agentText('came@redirected.example')}`;
    const apply = (file: string, ...options: string[]) =>
      countersign(['apply', '-f', fileWith(file), '--yes', ...options], { client });
    assert.equal((await apply(text('https://app.example.com/a'))).code, 0);
    await execute(server.env.DATABASE_URL, 'update agents set client_uri = $1 where email = $2', [
      'https://came.example/client.json',
      'came@redirected.example',
    ]);
    const only = text('https://app.example.com/b').replace(agentText('came@redirected.example'), '');
    const changed = await apply(only, '--prune');
    assert.match(changed.stdout, /^1 to change\.$/m, changed.output);
    const app = await agentBy('app@redirected.example');
    assert.deepEqual(
      [app.redirectUris, app.publicClient, app.dpopBoundAccessTokens, app.notificationUri],
      [['https://app.example.com/b'], true, true, 'https://app.example.com/b'],
    );
    const exported = await countersign(['export', '--organization', organizationId]);
    assert.match(exported.stdout, /https:\/\/app\.example\.com\/b/);
    assert.match(exported.stdout, /dpopBoundAccessTokens: true/);
    assert.doesNotMatch(exported.stdout, /came@redirected/);
  });

  it('never ends an operator, and ends an organization only by its own entry', async () => {
    const { slug, name } = await api(
      'GET',
      `/organizations/${(await api('GET', `/agents/${server.operator.clientId}`)).organizationId}`,
    );
    const made = await applied(
      `version: 1
organizations:
  - {slug: ends, name: Ends}
  - {slug: ${slug}, name: ${name}}
agents:${agentText('operator2@example.com', '    allowedScopes: [admin:orgs]\n')}`,
      '--yes',
    );
    assert.equal(made.code, 0, made.output);
    const none = await applied(
      `version: 1\norganizations:\n  - {slug: ${slug}, name: ${name}}\nagents: []\n`,
      '--prune',
      '--plan',
    );
    assert.equal(none.code, 0, none.output);
    const end = `version: 1\norganizations:\n  - {slug: ends, name: Ends, status: deleted}\n`;
    assert.match((await applied(end, '--yes')).stdout, /^- organization ends\n {4}CANNOT BE UNDONE/m);
    assert.equal((await applied(end, '--plan')).code, 0);
    const back = await applied('version: 1\norganizations:\n  - {slug: ends, name: Ends}\n', '--plan');
    assert.match(back.output, /:3:12: organization ends was deleted, and its slug stays taken/);
    const ended = await applied(
      `version: 1\nagents:${agentText('drop@pruned.example', '    organization: pruned\n')}`,
      '--plan',
    );
    assert.match(ended.output, /was decommissioned, which is final/);
  });
});

describe('a failure', () => {
  it('stops, says what is done and what is not, and a second run does the rest', async () => {
    const file = (limit: number) => `version: 1
organizations:
  - {slug: small, name: Small, maxAgents: ${limit}}
agents:${agentText('one@small.example', '    organization: small\n')}${agentText('two@small.example', '    organization: small\n')}
resources:
  - {identifier: https://small.example, name: Small, scopes: [a], shares: [{organization: small, scopes: [a]}]}
grants:
  - {agent: one@small.example, resource: https://small.example, scopes: [a]}
`;
    const stopped = await applied(file(1), '--yes');
    assert.equal(stopped.code, 4, 'the server answered 403');
    assert.match(stopped.output, /^2 of 6 changes are done\. Not done, besides the one that failed: 3$/m);
    assert.match(stopped.output, /^ {2}create API https:\/\/small\.example$/m);
    assert.match(
      stopped.output,
      /^countersign: cannot create agent (one|two)@small\.example: .*FREE_TIER_LIMIT_EXCEEDED.*\(request \S+\)\. Run apply again to do the rest$/m,
    );
    const completed = await applied(file(2), '--yes');
    assert.equal(completed.code, 0, completed.output);
    assert.match(completed.stdout, /^~ organization small\n {4}maxAgents {2}1 → 2$/m);
    assert.match(completed.stdout, /^4 to create, 1 to change\.$/m);
    assert.equal((await applied(file(2), '--plan')).code, 0);
  });

  it('6 when the server cannot be reached', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, output } = await countersign(['apply', '-f', fileWith('version: 1\nagents: []\n')], {
      url,
    });
    assert.match(output, /cannot reach/);
    assert.doesNotMatch(output, /\n\s+at /);
    assert.notEqual(code, 0);
  });
});

describe('a change by another client between the plan and the apply', () => {
  it('is not overwritten: 1 with the field and both values', async () => {
    const text = `version: 1\nagents:${agentText('raced@example.com')}`;
    assert.equal((await applied(text, '--yes')).code, 0);
    const { agentId } = await agentBy('raced@example.com');
    const url = await startProxy(async ({ method, url: path }) => {
      if (method === 'GET' && path?.endsWith(`/agents/${agentId}`))
        await api('PATCH', `/agents/${agentId}`, { owner: 'third' });
      return undefined;
    });
    const file = fileWith(text.replace('owner: talent', 'owner: second'));
    const { code, output } = await countersign(['apply', '-f', file, '--yes'], { url });
    assert.equal(code, 1);
    assert.match(
      output,
      /agent raced@example\.com was changed by another client since the plan was made: owner was talent and is now third/,
    );
    assert.equal((await agentBy('raced@example.com')).owner, 'third');
  });

  it('is not overwritten in a grant, but scopes that the apply ends itself are no such change', async () => {
    const text = (scopes: string, granted: string) => `version: 1
agents:${agentText('granted@example.com')}
resources:
  - {identifier: https://raced.example, name: R, scopes: [${scopes}]}
grants:
  - {agent: granted@example.com, resource: https://raced.example, scopes: [${granted}]}
`;
    assert.equal((await applied(text('a, b', 'a, b'), '--yes')).code, 0);
    const narrowed = await applied(text('b, c', 'b, c'), '--yes');
    assert.equal(narrowed.code, 0, narrowed.output);
    const { agentId } = await agentBy('granted@example.com');
    const { resourceId } = (await api('GET', '/resources?q=raced.example')).data[0];
    const grantPath = `/agents/${agentId}/grants`;
    const url = await startProxy(async ({ method, url: path }) => {
      if (method === 'GET' && path?.includes(grantPath))
        await api('PUT', `${grantPath}/${resourceId}`, { scopes: ['c'] });
      return undefined;
    });
    const { code, output } = await countersign(['apply', '-f', fileWith(text('b, c', 'b')), '--yes'], {
      url,
    });
    assert.equal(code, 1);
    assert.match(output, /scopes were b, c and are now c/);
  });
});

describe('secrets', () => {
  const webhook = (name: string) =>
    `version: 1\nwebhooks:\n  - {name: ${name}, url: "https://${name}.example/", events: ["*"], active: false}\n`;

  it('of new webhooks go to a new file with mode 0600, once', async () => {
    const path = join(folder, 'secrets.jsonl');
    const { code, output } = await applied(webhook('first'), '--yes', '--secrets-to', path);
    assert.equal(code, 0, output);
    assert.doesNotMatch(output, /whsec_/);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const secret = JSON.parse(readFileSync(path, 'utf8'));
    assert.match(secret.signingSecret, /^whsec_/);
    const subscription = await api('GET', `/webhooks/${secret.id}`);
    assert.deepEqual([subscription.name, subscription.active], ['first', false]);

    const refused = await applied(webhook('second'), '--yes', '--secrets-to', path);
    assert.equal(refused.code, 1);
    assert.match(refused.output, /secrets\.jsonl exists; name a new file for the secrets/);
    assert.equal((await api('GET', '/webhooks')).length, 1, 'refused before the first change');
    const unused = join(folder, 'unused.jsonl');
    assert.equal((await applied(webhook('first'), '--yes', '--secrets-to', unused)).code, 0);
    assert.equal(existsSync(unused), false);
  });

  it('of new webhooks are in the JSON output', async () => {
    const { stdout } = await applied(webhook('third'), '--yes', '--json');
    const { secrets } = JSON.parse(stdout);
    assert.equal(secrets.length, 1);
    assert.match(secrets[0].signingSecret, /^whsec_/);
  });
});

describe('the limits of a server', () => {
  it('429 is waited out, with a line that says so', async () => {
    let refusals = 0;
    const url = await startProxy(async ({ method, url: path }) => {
      if (method !== 'POST' || path !== '/api/v1/agents' || refusals >= 2) return undefined;
      refusals += 1;
      return 429;
    });
    const file = fileWith(`version: 1\nagents:${agentText('patient@example.com')}`);
    const { code, output } = await countersign(['apply', '-f', file, '--yes'], { url });
    assert.equal(code, 0, output);
    assert.equal(output.match(/is busy \(429\); trying again in 1 s/g)?.length, 2);
  });

  it('the rate window is not used up: many changes wait for the next one', async () => {
    const limited = await listen({ RATE_LIMIT_PER_MINUTE: '30' });
    startOfMinute(limited.clock);
    let hasEnded = false;
    // The window of this server ends a second after it is almost used up, instead of a minute after it began.
    const endWindow = (headers: Record<string, string>) => {
      if (!hasEnded && Number(headers['x-ratelimit-remaining']) <= 6) {
        hasEnded = true;
        setTimeout(() => limited.clock.advance(60_000), 1_000);
      }
      return { ...headers, 'x-ratelimit-reset': String(Math.ceil(Date.now() / 1_000) + 1) };
    };
    const url = await startProxy(async () => undefined, limited.issuer, endWindow);
    const agents = Array.from({ length: 28 }, (_, index) => agentText(`limited-${index}@example.com`)).join(
      '',
    );
    const { code, output } = await countersign(
      ['apply', '-f', fileWith(`version: 1\nagents:${agents}`), '--yes'],
      { url, client: limited.operator },
    );
    assert.equal(code, 0, output);
    assert.match(output, /the rate limit of the server is almost used up; going on in \d s/);
    assert.doesNotMatch(output, /\(429\)/);
  });

  it('130 agents with grants are applied, and a second apply has no difference', async () => {
    const emails = Array.from({ length: 130 }, (_, index) => `many-${index}@example.com`);
    const file = fileWith(`version: 1
resources:
  - {identifier: https://many.example, name: Many, scopes: [a]}
agents:${emails.map((email) => agentText(email)).join('')}
grants:
${emails.map((email) => `  - {agent: ${email}, resource: https://many.example, scopes: [a]}`).join('\n')}
`);
    const { code, stdout, output } = await countersign(['apply', '-f', file, '--yes']);
    assert.equal(code, 0, output.slice(-2_000));
    assert.match(stdout, /^261 changes applied\.$/m);
    const again = await countersign(['apply', '-f', file, '--yes']);
    assert.match(again.stdout, /^No difference\.$/m);
  });
});

describe('countersign export', () => {
  it('writes a file that has no difference, also with --prune', async () => {
    await api('POST', '/resources', {
      identifier: 'https://odd.example',
      name: '1.0',
      description: 'yes: no\n# comment\n\ttab, \u200d and "quotes"',
      scopes: [{ name: 'x#y', description: 'null' }, { name: '*a' }, { name: '&b:' }],
    });
    const path = join(folder, 'exported.yaml');
    const { code, output } = await countersign(['export', '-f', path]);
    assert.equal(code, 0, output);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.doesNotMatch(readFileSync(path, 'utf8'), /whsec_|cs_/);
    const planned = await countersign(['apply', '-f', path, '--plan', '--prune']);
    assert.equal(planned.code, 0, planned.output.slice(0, 2_000));
    const refused = await countersign(['export', '-f', path]);
    assert.match(refused.output, /exported\.yaml exists; name another file, or use --force/);
    chmodSync(path, 0o644);
    assert.equal((await countersign(['export', '-f', path, '--force'])).code, 0);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('writes another organization to standard output', async () => {
    const { code, stdout, output } = await countersign(['export', '--organization', 'small']);
    assert.equal(code, 0, output);
    assert.match(stdout, /^ {2}- slug: small\n/m);
    assert.match(stdout, /email: one@small\.example\n {4}organization: small\n/);
    assert.doesNotMatch(stdout, /many-1@/);
    const planned = await countersign(['apply', '-f', '-', '--plan', '--prune'], { input: stdout });
    assert.equal(planned.code, 0, planned.output);
    const unknown = await countersign(['export', '--organization', 'smal']);
    assert.match(unknown.output, /--organization: there is no organization smal; did you mean small\?/);
  });
});

describe('actsAsAdmin of a trust policy', () => {
  it('is set, taken, kept when it is left out, and exported', async () => {
    const email = 'deployer@acts.example';
    const file = (more: string) => `version: 1
agents:${agentText(email)}
trustPolicies:
  - {agent: ${email}, name: CI${more}, provider: github, audiences: [x], subject: "repo:acme/acts:ref:refs/heads/main", scopes: []}
`;
    const current = async () => {
      const { agentId } = await agentBy(email);
      return (await api('GET', `/oidc/trust-policies?agentId=${agentId}`)).data[0].actsAsAdmin;
    };
    for (const [more, expected] of [
      [', actsAsAdmin: true', true],
      ['', true],
      [', actsAsAdmin: false', false],
    ] as const) {
      const { code, output } = await applied(file(more), '--yes');
      assert.equal(code, 0, output);
      assert.equal(await current(), expected, output);
    }
    const { stdout } = await applied(file(', actsAsAdmin: true'), '--plan');
    assert.match(stdout, /actsAsAdmin/);
    assert.match((await countersign(['export'])).stdout, /actsAsAdmin: false/);
  });
});
