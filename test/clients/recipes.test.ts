/**
 * The programs of docs/guides/recipes with the packages that their pages install. Only the model is another one: the scripted model of
 * each framework. A person decides over HTTP, and the output is that of the page.
 */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { succeed } from '../support/child-process.ts';
import { guidePrograms, guides, resourceOf } from '../support/clients/guide-programs.ts';
import { listenForApprovals } from '../support/clients/listening.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram, type Program, startProgram, until } from '../support/programs.ts';
import { ownApprovals } from '../support/scenarios/approvals.ts';

const timeout = 900_000;
const sdk = fileURLToPath(new URL('../../sdk/', import.meta.url));
const scripted = fileURLToPath(new URL('../support/clients/recipes/', import.meta.url));

const { t, issuer, organizationId, operate, member, asker, decide } = await listenForApprovals();
const api = await t.agent({ allowedScopes: ['tokens:read'] });
const shared = {
  ISSUER: issuer,
  ORGANIZATION_ID: organizationId,
  CLIENT_ID: api.clientId,
  CLIENT_SECRET: api.clientSecret,
};
const apis = guidePrograms('approvals', shared);
const recipes = guidePrograms('recipes', shared);
const folder = mkdtempSync(join(tmpdir(), 'countersign-recipes-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Start = (env: Record<string, string>) => Program;

const pageOf = (name: string) => readFileSync(join(guides, 'recipes', `${name}.md`), 'utf8');

/** The packages that the command of the page installs, with their versions; the SDK is that of this checkout. */
function packagesOf(name: string, command: 'npm' | 'pip'): readonly string[] {
  const [, list] = new RegExp(`^${command} install (.*)$`, 'm').exec(pageOf(name)) ?? [];
  assert.ok(list, `${name}.md has a line: ${command} install …`);
  return list
    .replaceAll("'", '')
    .split(' ')
    .filter((one) => /(@|==)[\d.]+$/.test(one));
}

async function prepareNode(name: string): Promise<Start> {
  const place = recipes.folder;
  writeFileSync(join(place, 'package.json'), '{"private": true, "type": "module"}');
  const install = ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packagesOf(name, 'npm')];
  await succeed('npm', install, { cwd: place, timeout });
  for (const file of ['script.mjs', `${name}-scripted.mjs`])
    copyFileSync(join(scripted, file), join(place, file));
  return (env) => recipes.run(`${name}-scripted.mjs`, env);
}

async function preparePython(name: string): Promise<Start> {
  const place = join(folder, name);
  cpSync(join(guides, 'recipes'), place, { recursive: true });
  // The build of the package writes into its folder.
  cpSync(join(sdk, 'python'), join(place, 'sdk'), { recursive: true });
  for (const file of ['script.py', `${name.replaceAll('-', '_')}_scripted.py`])
    copyFileSync(join(scripted, file), join(place, file));
  const python = join(place, '.venv/bin/python');
  await succeed('python3', ['-m', 'venv', join(place, '.venv')], { timeout });
  const install = ['-m', 'pip', '--quiet', '--disable-pip-version-check', 'install', join(place, 'sdk')];
  await succeed(python, [...install, ...packagesOf(name, 'pip')], { timeout });
  return (env) =>
    startProgram(python, [join(place, `${name.replaceAll('-', '_')}_scripted.py`)], {
      env: { PATH: process.env.PATH, HOME: place, PYTHONDONTWRITEBYTECODE: '1', ...shared, ...env },
      cwd: place,
    });
}

/** The API of the guide, an agent that may read, and the person whom it asks. */
async function prepareOrders() {
  const audience = await apis.start('orders-api.mjs');
  const { resourceId } = await operate('POST', '/resources', resourceOf('step-up.md', audience));
  const [person, { agent, agentId }] = [await member(), await asker()];
  await operate('PUT', `/agents/${agentId}/grants/${resourceId}`, { scopes: ['orders:read'] });
  const credentials = { CLIENT_ID: agent.clientId, CLIENT_SECRET: agent.clientSecret };
  const env = { ...credentials, AUDIENCE: audience, PERSON: person.personId };
  /** Runs the agent; the person decides on what it asks for. */
  const decideFor = async (start: Start, decision: 'approve' | 'deny') => {
    const program = start(env);
    const find = async () => {
      const { json } = await person.browser.request(`${ownApprovals}?status=pending&limit=1`);
      return json.data[0];
    };
    const shown = await until('a request', find, program);
    assert.deepEqual(shown.scopes, ['orders:refund']);
    assert.deepEqual(shown.authorizationDetails, [{ type: 'refund', order: '1001', amount: 80 }]);
    const { status, text } = await decide(person.browser, shown.approvalId, { decision });
    assert.equal(status, 200, text);
    assert.equal(await program.gone(), 0, program.output());
    return { output: program.stdout(), approvalId: shown.approvalId as string };
  };
  return { decideFor, personId: person.personId };
}

const programs = [{ name: 'vercel-ai', needs: 'npm', prepare: prepareNode }] as const;

describe('docs/guides/recipes', { timeout: programs.length * timeout }, () => {
  for (const { name, needs, prepare } of programs) {
    it(`${name}: reads, is refused, asks, and refunds what a person approved; not what they denied`, async (test) => {
      if (!findProgram(needs)) return skipWithout(test, needs);
      const start = await prepare(name);
      const { decideFor, personId } = await prepareOrders();

      const denied = await decideFor(start, 'deny');
      const lines = denied.output.trim().split('\n');
      const refusal = 'refund_order: 403 insufficient_scope: needs orders:refund, ask a person';
      assert.deepEqual(lines.slice(-2), [refusal, 'There was no refund.'], denied.output);

      const [, expected = ''] = /^```text\n([\s\S]*?)^```$/m.exec(pageOf(name)) ?? [];
      const { output, approvalId } = await decideFor(start, 'approve');
      const values = { 'http://localhost:3000': issuer, APPROVAL_ID: approvalId, PERSON_ID: personId };
      const filled = Object.entries(values).reduce(
        (text, [shown, value]) => text.replace(shown, value),
        expected,
      );
      assert.equal(output, filled);
    });
  }
});
