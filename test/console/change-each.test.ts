/** Changes of many agents in the console. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent } from '../../console/src/api/generated.ts';
import { changeEach } from '../../console/src/pages/agents/list/change-each.ts';

const agents = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ agentId: id, email: `${id}@example.com` }) as Agent);
const none: ReadonlySet<string> = new Set();

async function run(refused: string, { done = none, own = null as string | null } = {}) {
  const asked: string[] = [];
  const outcome = await changeEach(agents, done, own, async ({ agentId }) => {
    asked.push(agentId);
    if (refused.includes(agentId)) throw new Error(`no ${agentId}`);
  });
  return { asked: asked.join(''), changed: [...outcome.changed].join(''), problem: outcome.problem };
}

describe('changeEach', () => {
  it('all in their order', async () =>
    assert.deepEqual(await run(''), { asked: 'abcde', changed: 'abcde', problem: undefined }));

  it('continues after a refusal, and names the agent by its address', async () => {
    const { asked, changed, problem } = await run('b');
    assert.deepEqual([asked, changed], ['abcde', 'acde']);
    assert.match(problem ?? '', /^4 of 5 changed\. b@example\.com: /);
  });

  it('names three refusals and counts the others', async () => {
    const { problem = '' } = await run('abcde');
    assert.match(problem, /^0 of 5 changed\. a@\S+ .*c@.*And 2 more refusals\.$/);
    assert.ok(!problem.includes('d@'));
  });

  it('a second try sends only those that did not change', async () =>
    assert.deepEqual(await run('', { done: new Set('acd') }), {
      asked: 'be',
      changed: 'acdbe',
      problem: undefined,
    }));

  it("the session's own agent is the last", async () =>
    assert.equal((await run('', { own: 'b' })).asked, 'acdeb'));
});
