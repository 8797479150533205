/** Agents, an API and the controls of the agent pages, for tests of the console. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { ConsoleServer } from '../console.ts';
import { newAgent } from '../harness.ts';

const scopes = [
  'agents:read',
  'agents:write',
  'audit:read',
  'webhooks:read',
  'resources:read',
  'resources:write',
];

/** An admin, and an API with two scopes. `send` calls the API as the operator. */
export async function createAgentFixture(server: ConsoleServer) {
  const token = await server.token();
  const send = async (
    method: 'POST' | 'PUT' | 'PATCH' | 'GET' | 'DELETE',
    path: string,
    payload?: object,
  ) => {
    const { status, text } = await server.call(method, `/api/v1${path}`, {
      token,
      ...(payload && { payload }),
    });
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    send,
    admin: await server.agent({ email: 'admin@talent.example', allowedScopes: scopes }),
    registered: (changes: Record<string, unknown> = {}): Promise<{ agentId: string; email: string }> =>
      send('POST', '/agents', newAgent(changes)),
    resource: await send('POST', '/resources', {
      identifier: 'https://api.talent.example/resumes',
      name: 'Résumés',
      scopes: [{ name: 'resumes:read', description: 'Read résumés' }, { name: 'resumes:write' }],
    }),
  };
}

export const dialogOf = (page: Page) => page.getByRole('dialog');
export const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
export const choice = (page: Page, name: string) => page.getByRole('combobox', { name, exact: true });
export const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { name, level: 1 }).waitFor();
export const openTab = (page: Page, name: string) => page.getByRole('tab', { name }).click();
export const openMenu = async (page: Page, item: string) => {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: item }).click();
};
