/** The receiver of docs/guides/approvals-slack.md, between real deliveries and a fake Slack. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startReceiver } from '../support/peers/receivers.ts';
import { until } from '../support/programs.ts';
import { createApprovalScenario } from '../support/scenarios/approvals.ts';

const root = new URL('../../', import.meta.url);
const payment = { type: 'payment', amount: 120, currency: 'EUR' };

const { t, issuer, operate, asker, request, member, decide } = await createApprovalScenario();

/** The program of the guide; the SDK is the one of this checkout. */
function programOfGuide(): string {
  const guide = readFileSync(new URL('docs/guides/approvals-slack.md', root), 'utf8');
  const [, program = ''] = /^ {3}```js\n(.*?)^ {3}```$/ms.exec(guide) ?? [];
  assert.match(program, /'@countersign\/sdk'/);
  return program.replace('@countersign/sdk', new URL('sdk/typescript/src/sdk.ts', root).href);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startProgram(env: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-slack-'));
  writeFileSync(join(folder, 'slack.mjs'), programOfGuide());
  const port = await freePort();
  const program = spawn(process.execPath, [join(folder, 'slack.mjs')], {
    cwd: fileURLToPath(root),
    env: { ...process.env, NODE_OPTIONS: '', ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  program.stdout.on('data', (chunk) => (output += chunk));
  after(() => {
    program.kill();
    rmSync(folder, { recursive: true });
  });
  await until('the receiver', async () => output.includes('receiver on port') || undefined);
  return `http://127.0.0.1:${port}`;
}

describe('approvals in Slack', () => {
  it('a subscriber gets the details and the page; the receiver of the guide posts the link to Slack', async () => {
    let slackStatus = 200;
    const slack = await startReceiver(
      (_request, response) => void response.writeHead(slackStatus).end('ok'),
      {
        tls: false,
      },
    );
    // The HTTPS proxy before the receiver.
    let target = '';
    const proxy = await startReceiver(async ({ headers, body }, response) => {
      const { host: _, connection: __, 'transfer-encoding': ___, ...others } = headers;
      const answer = await fetch(target, { method: 'POST', headers: others, body });
      response.writeHead(answer.status).end();
    });
    const { signingSecret } = await operate('POST', '/webhooks', {
      name: 'Slack',
      url: `https://receiver.test:${proxy.port}/slack`,
      events: ['approval.requested'],
    });
    target = await startProgram({ SIGNING_SECRET: signingSecret, SLACK_WEBHOOK_URL: slack.url });

    const client = await asker();
    const { browser, personId } = await member();
    const { approvalId } = await request(client, {
      login_hint: personId,
      binding_message: 'Pay <!channel> <https://evil.example|Approve>',
      authorization_details: JSON.stringify([payment]),
    });
    await t.app.deliveries.drain();
    const { type, data } = JSON.parse(proxy.received[0]?.body ?? '{}');
    assert.equal(type, 'approval.requested');
    const { expiresAt, resource, ...rest } = data;
    assert.deepEqual(rest, {
      approvalId,
      agentId: client.agentId,
      scopes: ['orders:write'],
      authorizationDetails: [payment],
      bindingMessage: 'Pay <!channel> <https://evil.example|Approve>',
      requestedFor: 'person',
      personId,
      accessExpiresIn: 3_600,
      status: 'pending',
      url: `${issuer}/console/approvals/${approvalId}`,
    });
    assert.ok(Date.parse(expiresAt) > t.clock.now() && resource.startsWith('https://'));

    assert.equal(slack.received.length, 1);
    // The link alone, and none of the agent's words.
    assert.deepEqual(JSON.parse(slack.received[0]?.body ?? '{}'), {
      text: `An agent asks for approval: ${data.url}`,
    });

    // Only this event; and what Slack does not accept comes again.
    await decide(browser, approvalId);
    slackStatus = 500;
    await request(client, { login_hint: personId });
    await t.app.deliveries.drain();
    assert.equal(slack.received.length, 2);
    slackStatus = 200;
    t.clock.advance(61_000);
    await t.app.deliveries.drain();
    assert.deepEqual([slack.received.length, proxy.received.length], [3, 3]);

    const names = ['x-service-timestamp', 'x-service-signature-256'];
    const headers = Object.fromEntries(names.map((name) => [name, proxy.received[0]?.headers[name] ?? '']));
    const forged = await fetch(target, { method: 'POST', headers, body: '{}' });
    assert.equal(forged.status, 401);
    assert.equal(slack.received.length, 3);
  });
});
