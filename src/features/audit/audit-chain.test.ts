import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/harness.ts';

const t = await startApp();
const token = await t.token();

const verify = async (query = '') => (await t.call('GET', `/api/v1/audit/verify${query}`, { token })).json;

describe('the chain', () => {
  it('200: an honest log verifies, whole and in part', async () => {
    for (let count = 0; count < 20; count += 1)
      await t.call('POST', '/api/v1/agents', { token, payload: newAgent() });
    const [{ events }] = (await t.sql('select count(*)::int as events from audit_events')) as [
      { events: number },
    ];
    assert.deepEqual(await verify(), { verified: true, checkedCount: events, fromDate: null, toDate: null });
    assert.deepEqual(await verify('?fromDate=2020-01-01'), {
      verified: true,
      checkedCount: events,
      fromDate: '2020-01-01T00:00:00.000Z',
      toDate: null,
    });
  });
});
