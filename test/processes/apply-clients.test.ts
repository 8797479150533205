/** `countersign apply` by a person on a terminal, and by a client that is no operator. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { skipWithout } from '../support/harness.ts';
import { bin, findProgram, startProgram, until } from '../support/programs.ts';
import { agentText, everyScope, startApplyServer } from '../support/scenarios/apply.ts';

const server = await startApplyServer();
const { folder, countersign, fileWith, agentBy, newClient } = server;

describe('a client without the operator’s scope', () => {
  it('manages its own organization, and names others by id', async () => {
    const { client, organizationId } = await newClient('plain', everyScope);
    const other = await newClient('neighbour', everyScope);
    const text = (name: string) => `version: 1
agents:${agentText('a@plain.example', '    allowedScopes: [agents:read]\n')}
resources:
  - {identifier: https://plain.example, name: Plain, scopes: [a], shares: [{organization: ${name}, scopes: [a]}]}
grants:
  - {agent: a@plain.example, resource: https://plain.example, scopes: [a]}
`;
    const refused = await countersign(['apply', '-f', fileWith(text('neighbour')), '--yes'], { client });
    assert.match(refused.output, /may not list organizations .* give the id instead of neighbour/);
    const file = fileWith(text(other.organizationId));
    const { code, output } = await countersign(['apply', '-f', file, '--yes'], { client });
    assert.equal(code, 0, output);
    assert.equal((await agentBy('a@plain.example')).organizationId, organizationId);
    assert.equal((await countersign(['apply', '-f', file, '--plan', '--prune'], { client })).code, 0);
  });
});

describe('on a terminal', () => {
  const onTerminal = (file: string) => {
    const command = [process.execPath, bin, 'apply', '-f', file, '--prune'].join(' ');
    return startProgram('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm', ...server.variables },
      cwd: folder,
      input: null,
    });
  };

  it('asks, and asks separately about what cannot be undone', async (t) => {
    if (!findProgram('script')) return skipWithout(t, 'script');
    await newClient('asked', everyScope);
    const keep = agentText('new@asked.example', '    organization: asked\n');
    const file = fileWith(`version: 1\nagents:${keep}`);
    const cancelled = onTerminal(file);
    await until('the question', async () => /Type yes: /.exec(cancelled.output())?.[0], cancelled);
    cancelled.child.stdin?.write('\u0003');
    assert.equal(await cancelled.gone(), 130, 'Ctrl-C');
    const answer = async (first: string, second?: string) => {
      const program = onTerminal(file);
      await until('the question', async () => /Type yes: /.exec(program.output())?.[0], program);
      program.child.stdin?.write(`${first}\n`);
      if (second !== undefined) {
        await until(
          'the second question',
          async () => /Type 1 to go on: /.exec(program.output())?.[0],
          program,
        );
        program.child.stdin?.write(`${second}\n`);
      }
      const code = await program.gone();
      return { code, output: program.output() };
    };
    const no = await answer('no');
    assert.match(no.output, /nothing was changed/);
    assert.match(no.output, /\[32m\+ agent new@asked\.example/, 'colours');
    assert.match((await answer('yes', 'yes')).output, /nothing was changed/);
    assert.equal(await agentBy('new@asked.example'), undefined);
    const yes = await answer('yes', '1');
    assert.equal(yes.code, 0, yes.output);
    assert.equal((await agentBy('admin@asked.example')).status, 'decommissioned');
    assert.equal((await agentBy('new@asked.example')).status, 'active');
  });
});
