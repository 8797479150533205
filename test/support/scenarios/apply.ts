/** A server, its operator, and `countersign` as a client of it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after } from 'node:test';
import { type CommandOptions, startInProcess } from '../commands-in-process.ts';
import { createDatabase, environment } from '../harness.ts';
import { authorize, type Client, freePort } from '../programs.ts';
import { startServerInProcess } from '../server-in-process.ts';

export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly output: string;
}

export async function startApplyServer() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-apply-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const env = environment(await createDatabase());
  const service = await startServerInProcess(env);
  const { operator } = service;
  const headers = await authorize(service.url, operator);
  let files = 0;

  const variablesOf = (client: Client, url: string) => ({
    COUNTERSIGN_URL: url,
    COUNTERSIGN_CLIENT_ID: client.clientId,
    COUNTERSIGN_CLIENT_SECRET: client.clientSecret,
    COUNTERSIGN_CONFIG: join(folder, 'no-profiles.json'),
  });

  async function countersign(
    args: readonly string[],
    {
      client = operator as Client,
      url = service.url,
      variables = {},
      ...options
    }: { client?: Client; url?: string; variables?: Record<string, string> } & Pick<
      CommandOptions,
      'input' | 'answers'
    > = {},
  ): Promise<Result> {
    const command = startInProcess(args, {
      ...options,
      env: { ...variablesOf(client, url), ...variables },
      cwd: folder,
    });
    const code = await command.gone();
    return { code, stdout: command.stdout(), output: command.output() };
  }

  function fileWith(text: string): string {
    files += 1;
    const file = join(folder, `identity-${files}.yaml`);
    writeFileSync(file, text);
    return file;
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  async function api(method: string, path: string, body?: object): Promise<any> {
    const response = await fetch(`${service.url}/api/v1${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** A client of an organization that is not the operator's. */
  async function newClient(slug: string, allowedScopes: readonly string[], role?: 'admin') {
    const { organizationId } = await api('POST', '/organizations', { name: slug, slug, planTier: 'pro' });
    const { agentId } = await api('POST', '/agents', {
      email: `admin@${slug}.example`,
      agentType: 'custom',
      version: '1.0.0',
      capabilities: ['a:b'],
      owner: slug,
      deploymentEnv: 'production',
      organization_id: organizationId,
      allowedScopes,
    });
    if (role) await api('POST', `/organizations/${organizationId}/members`, { agentId, role });
    const client: Client = await api('POST', `/agents/${agentId}/credentials`);
    return { organizationId, agentId, client };
  }

  return {
    env,
    folder,
    operator,
    service,
    countersign,
    fileWith,
    api,
    newClient,
    startProxy: (
      before: Parameters<typeof startProxy>[0],
      target = service.url,
      changeHeaders?: Parameters<typeof startProxy>[2],
    ) => startProxy(before, target, changeHeaders),
    variables: variablesOf(operator, service.url),
    /** Runs apply with a text and options. */
    applied: (text: string, ...options: string[]) => countersign(['apply', '-f', fileWith(text), ...options]),
    agentBy: async (email: string) =>
      (await api('GET', `/agents?email=${encodeURIComponent(email)}`)).data[0],
  };
}

/** A proxy to a server. `before` sees each request first, and may answer it with a status; `changeHeaders` may change those of an answer. */
async function startProxy(
  before: (request: IncomingMessage) => Promise<number | undefined>,
  target: string,
  changeHeaders = (headers: Record<string, string>) => headers,
): Promise<string> {
  const port = await freePort();
  const proxy = createServer(async (request, response) => {
    const body = await buffer(request);
    const status = await before(request);
    if (status !== undefined) {
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' });
      response.end('{"code":"TRY_LATER","message":"Later."}');
      return;
    }
    const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers,
      ...(body.length > 0 && { body }),
    });
    const {
      'content-length': ___,
      'transfer-encoding': ____,
      'content-encoding': _____,
      ...answered
    } = Object.fromEntries(answer.headers) as Record<string, string>;
    response.writeHead(answer.status, changeHeaders(answered));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  after(() => proxy.close());
  return `http://127.0.0.1:${port}`;
}

/** An entry of `agents`; `more` are further lines. */
export const agentText = (email: string, more = '') => `
  - email: ${email}
    agentType: screener
    version: 1.0.0
    capabilities: [resume:read]
    owner: talent
    deploymentEnv: production
${more}`;

export const everyScope = [
  'agents:read',
  'agents:write',
  'webhooks:read',
  'webhooks:write',
  'resources:read',
  'resources:write',
];
