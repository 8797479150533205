/** The access token that commands of a stored account share, from the login to the logout. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Run, startCommandLine } from '../support/command-line.ts';
import { newAgent } from '../support/harness.ts';

const { service, operator, folder, asOperator, run } = await startCommandLine();
const { url } = service;
const { clientId, clientSecret } = operator;

interface Kept {
  url: string;
  clientId: string;
  token: string;
  expiresAt: string;
}

let folders = 0;
/** A user with profiles, and what the commands say and store. */
async function signIn(id = clientId, secret = clientSecret, variables: Record<string, string> = {}) {
  const home = join(folder, `tokens-${folders++}`);
  const file = join(home, '.config', 'countersign', 'tokens.json');
  const command = (args: readonly string[], input?: string): Promise<Run> =>
    run(args, { env: { HOME: home, ...variables }, input });
  const logIn = () => command(['login', '--url', url, '--client-id', id, '--secret-stdin'], secret);
  const { code, output } = await logIn();
  assert.equal(code, 0, output);
  const read = (): Record<string, Kept> => JSON.parse(readFileSync(file, 'utf8'));
  const only = (): Kept => {
    const [kept, ...others] = Object.values(read());
    assert.ok(kept && others.length === 0);
    return kept;
  };
  return { file, command, logIn, read, only };
}

const issuedTo = async (agentId = clientId): Promise<number> => {
  const query = `agentId=${agentId}&action=token.issued&limit=1`;
  const answer = await run(['api', 'GET', `/audit?${query}`]);
  return JSON.parse(answer.stdout).total;
};

async function createClient(scopes: string) {
  const { email } = newAgent();
  const args = ['--agent-type', 'custom', '--version', '1.0.0', '--owner', 'me', '--capabilities', 'a:read'];
  const agent = await run([
    'agents',
    'create',
    '--email',
    email,
    ...args,
    '--deployment-env',
    'staging',
    '--allowed-scopes',
    scopes,
    '--json',
  ]);
  const { agentId } = JSON.parse(agent.stdout);
  const credential = await run(['credentials', 'create', agentId, '--json']);
  return { agentId, secret: JSON.parse(credential.stdout).clientSecret as string };
}

const isActive = async (token: string): Promise<boolean> => {
  const answer = await run(['tokens', 'introspect', '--token-file', '-', '--json'], { input: token });
  return JSON.parse(answer.stdout).active;
};

describe('the token of a stored account', () => {
  it('is one for the login and all commands, in a file of the owner, and is never printed', async () => {
    const { agentId, secret } = await createClient('agents:read');
    const { file, command, only } = await signIn(agentId, secret);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const { token, ...kept } = only();
    assert.deepEqual({ url: kept.url, clientId: kept.clientId }, { url, clientId: agentId });
    const runs = [
      await command(['agents', 'list']),
      await command(['whoami', '--json']),
      await command(['profiles']),
    ];
    for (const { code, output } of runs) {
      assert.equal(code, 0, output);
      assert.ok(!output.includes(token));
    }
    assert.ok(!readFileSync(file, 'utf8').includes(secret));
    assert.equal(await issuedTo(agentId), 1);
  });

  it('is in the folder of the user also when the profiles are in a project', async () => {
    const project = join(folder, 'project');
    mkdirSync(project);
    const { only } = await signIn(clientId, clientSecret, {
      COUNTERSIGN_CONFIG: join(project, 'profiles.json'),
    });
    assert.deepEqual(readdirSync(project), ['profiles.json']);
    assert.equal(only().clientId, clientId);
  });

  it('is replaced when it is about to end, was refused, or the file is damaged', async () => {
    const { file, command, only, read } = await signIn();
    const lists = async () => {
      const { code, output } = await command(['agents', 'list']);
      assert.equal(code, 0, output);
    };
    const [[key = '', first] = []] = Object.entries(read());
    assert.ok(first);
    const soon = new Date(Date.now() + 5_000).toISOString();
    writeFileSync(file, JSON.stringify({ [key]: { ...first, expiresAt: soon } }));
    await lists();
    const second = only();
    assert.notEqual(second.token, first.token);
    await run(['tokens', 'revoke', '--token-file', '-', '--yes'], { input: second.token });
    await lists();
    const third = only();
    assert.notEqual(third.token, second.token);
    for (const damage of ['', '{', '[]', 'null', '{"x":1}', `{"${key}":{"token":1}}`]) {
      writeFileSync(file, damage);
      await lists();
      assert.notEqual(only().token, third.token, damage);
    }
    rmSync(file);
    mkdirSync(file);
    await lists();
  });

  it('is replaced when it lacks a scope that the client has got since', async () => {
    const { agentId, secret } = await createClient('agents:read');
    const { command } = await signIn(agentId, secret);
    assert.equal((await command(['webhooks', 'list'])).code, 4);
    await run(['agents', 'update', agentId, '--allowed-scopes', 'agents:read,webhooks:read']);
    const { code, output } = await command(['webhooks', 'list']);
    assert.equal(code, 0, output);
  });

  it('serves no other secret: a wrong one is refused', async () => {
    const { command } = await signIn();
    const wrong = { ...asOperator, COUNTERSIGN_CLIENT_SECRET: 'cs_wrong' };
    assert.equal((await command(['agents', 'list'])).code, 0);
    assert.equal((await run(['agents', 'list'], { env: wrong })).code, 3);
  });

  it('survives commands at the same time', async () => {
    const { file, command, only } = await signIn();
    rmSync(file);
    const runs = await Promise.all(Array.from({ length: 8 }, () => command(['agents', 'list'])));
    assert.deepEqual(
      runs.map(({ code }) => code),
      Array(8).fill(0),
    );
    assert.ok(await isActive(only().token));
    assert.ok(!existsSync(`${file}.new`));
  });

  it('ends with the logout, on the server too, and with the profile of another secret', async () => {
    const { command, read, only, logIn } = await signIn();
    const { token } = only();
    assert.ok(await isActive(token));
    const { code, stderr } = await command(['logout']);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^Its access token has ended on the server, too\.$/m);
    assert.deepEqual(read(), {});
    assert.equal(await isActive(token), false);

    await logIn();
    const replaced = only().token;
    const { agentId, secret } = await createClient('agents:read');
    await command(['login', '--url', url, '--client-id', agentId, '--secret-stdin'], secret);
    assert.equal(only().clientId, agentId);
    assert.equal(await isActive(replaced), false);
  });

  it('credentials of variables leave no file', async () => {
    const home = join(folder, 'no-profile');
    mkdirSync(home);
    const { code } = await run(['agents', 'list'], { env: { ...asOperator, HOME: home } });
    assert.equal(code, 0);
    assert.ok(!existsSync(join(home, '.config')));
  });
});
