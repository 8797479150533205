/** The first subscription of an instance, while another process has cached that there is none. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { environment, startApp } from '../../../../test/support/harness.ts';
import { createApp } from '../../../app.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { createLog } from '../../../kernel/observability/log.ts';

test('201 for the first subscription waits until every process knows it: no later event is missed', async () => {
  const t = await startApp();
  const other = await createApp({
    config: loadConfig(environment(t.databaseUrl)),
    log: createLog({ level: 'silent' }),
    clock: t.clock,
  });
  after(() => other.close());
  const token = await t.token();
  const api = '/api/v1/webhooks';
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: t.operator.clientId,
    client_secret: t.operator.clientSecret,
  });
  /** Returns the id of the token. */
  const issueElsewhere = async (): Promise<string> => {
    const answer = await other.http.server.inject({
      method: 'POST',
      url: '/api/v1/token',
      payload: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const [, claims = ''] = answer.json().access_token.split('.');
    return JSON.parse(Buffer.from(claims, 'base64url').toString()).jti;
  };
  const untilAbsenceIsCached = async () => {
    while (!other.deliveries.presence.isKnownAbsent()) await issueElsewhere();
  };
  const requireDelivery = async (id: string, tokenId: string, what: string) => {
    await t.app.deliveries.fanOut();
    const rows = await t.sql(
      "select 1 from webhook_deliveries where subscription_id = $1 and payload::json -> 'data' ->> 'tokenId' = $2",
      [id, tokenId],
    );
    assert.equal(rows.length, 1, what);
  };

  const payload = { name: 'First', url: 'https://receiver.invalid/', events: ['token.issued'] };
  for (let round = 0; round < 3; round += 1) {
    await untilAbsenceIsCached();
    const { id } = (await t.call('POST', api, { token, payload })).json;
    await requireDelivery(id, await issueElsewhere(), `round ${round}: created`);

    await t.call('PATCH', `${api}/${id}`, { token, payload: { active: false } });
    await untilAbsenceIsCached();
    await t.call('PATCH', `${api}/${id}`, { token, payload: { active: true } });
    await requireDelivery(id, await issueElsewhere(), `round ${round}: activated`);
    await t.call('DELETE', `${api}/${id}`, { token });
  }
});
