/** `--all` against lists of each shape. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ioFor } from '../../../../test/support/commands-in-process.ts';
import type { Connection } from '../connection.ts';
import { apiCommands } from './api-commands.ts';
import { loadOperations } from './document.ts';
import { readAllPages } from './pages.ts';

const commands = apiCommands(loadOperations());

async function readAll(id: string, pages: readonly (readonly object[])[]): Promise<unknown> {
  const command = commands.find(({ operation }) => operation.id === id);
  assert.ok(command?.paging, id);
  const total = pages.flat().length;
  const connection = {
    call: async (_method: string, _path: string, { query }: { query: { page: number } }) => ({
      data: pages[query.page - 1] ?? [],
      total,
    }),
  } as unknown as Connection;
  const request = { method: 'GET', path: command.operation.path, query: { limit: 2 }, headers: {} };
  return ((await readAllPages(ioFor({}), connection, command, request)) as { data: unknown }).data;
}

it('keeps all checkpoints of one key', async () => {
  const rows = [3, 2, 1].map((number) => ({ number, size: number, headHash: 'h', keyId: 'k' }));
  assert.deepEqual(await readAll('listAuditCheckpoints', [rows.slice(0, 2), rows.slice(2)]), rows);
});

it('keeps all grants of one agent', async () => {
  const rows = ['a', 'b', 'c'].map((resourceId) => ({ agentId: 'x', resourceId, scopes: [] }));
  assert.deepEqual(await readAll('listAgentGrants', [rows.slice(0, 2), rows.slice(2)]), rows);
});

it('shows an entry once that moves to the next page and changes', async () => {
  const [one, two] = ['1', '2'].map((agentId) => ({ agentId, owner: 'a' }));
  const changed = { ...two, owner: 'b' };
  assert.deepEqual(await readAll('listAgents', [[one, two] as object[], [changed]]), [one, changed]);
});
