/** The requests of the load generator. */
import { type Agent, secretOf } from './agents.ts';
import type { Request } from './load.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
export const tokenPath = '/api/v1/token';

export const tokenRequest = (agent: Agent): Request => ({
  method: 'POST',
  path: tokenPath,
  headers: form,
  body: `grant_type=client_credentials&client_id=${agent.agentId}&client_secret=${secretOf(agent)}`,
});

export const resourceTokenRequest = (agent: Agent, resource: string): Request => {
  const request = tokenRequest(agent);
  return { ...request, body: `${request.body}&resource=${encodeURIComponent(resource)}` };
};

export const basicTokenRequest = (path: string, id: string, secret: string): Request => ({
  method: 'POST',
  path,
  headers: { ...form, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
  body: 'grant_type=client_credentials',
});

/** Sends one request outside the load and returns its JSON. */
export async function send<T>(url: string, { method, path, headers, body }: Request): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

export const introspectionRequest = (callersToken: string, token: string): Request => ({
  method: 'POST',
  path: '/api/v1/token/introspect',
  headers: { ...form, authorization: `Bearer ${callersToken}` },
  body: `token=${token}`,
});

export const forwardAuthRequest = (token: string, resource: string, scope: string): Request => ({
  method: 'GET',
  path: `/api/v1/forward-auth?${new URLSearchParams({ resource, scope })}`,
  headers: { authorization: `Bearer ${token}` },
});

export const agentRequest = (callersToken: string, { agentId }: Agent): Request => ({
  method: 'GET',
  path: `/api/v1/agents/${agentId}`,
  headers: { authorization: `Bearer ${callersToken}` },
});

export const accessToken = async (url: string, request: Request): Promise<string> =>
  (await send<{ access_token: string }>(url, request)).access_token;
