/** Requests to our MCP server, as MCP 2025-11-25 writes them, which needs no handshake here. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestApp } from '../harness.ts';

export const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });

/** The facts between the two lines with the mark. */
export function factsOf(text: string) {
  const [, mark = '', json = ''] = /^--- (\S+)\n(.*)\n--- \1$/m.exec(text) ?? assert.fail(text);
  assert.match(mark, /^[0-9a-f-]{36}$/);
  return JSON.parse(json);
}

export function createMcpClient(t: Pick<TestApp, 'call' | 'token' | 'agent'>) {
  const post = (payload: object, { token, headers }: { token?: string; headers?: object } = {}) =>
    t.call('POST', '/mcp', {
      ...(token !== undefined && { token }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      payload,
    });

  /** The result of a request that must succeed. */
  async function ask(token: string, method: string, params?: object) {
    const { status, text } = await post(message(method, params), { token });
    assert.equal(status, 200, text);
    // An answer is one event, or JSON.
    const { result, error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
    assert.equal(error, undefined, JSON.stringify(error));
    return result;
  }

  async function textOf(token: string, name: string, args: object = {}, isRefusal = false): Promise<string> {
    const { content, isError = false } = await ask(token, 'tools/call', { name, arguments: args });
    assert.equal(isError, isRefusal, content[0].text);
    return content[0].text;
  }

  const operate = async (url: string, payload: object) => {
    const answer = await t.call('POST', `/api/v1${url}`, { token: await t.token(), payload });
    assert.equal(answer.status, 201, answer.text);
    return answer.json;
  };

  return {
    post,
    ask,
    textOf,
    /** What a tool answers with. */
    call: async (token: string, name: string, args?: object) => factsOf(await textOf(token, name, args)),
    refusal: (token: string, name: string, args?: object) => textOf(token, name, args, true),
    /** The only agent of a new organization. */
    async tenant(allowedScopes = ['agents:read', 'agents:write', 'audit:read']) {
      const { organizationId } = await operate('/organizations', {
        name: 'Tenant',
        slug: `tenant-${randomUUID().slice(0, 18)}`,
        planTier: 'pro',
      });
      return t.agent({ organization_id: organizationId, allowedScopes });
    },
    tokenOf: ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) =>
      t.token(undefined, { clientId, clientSecret }),
  };
}
