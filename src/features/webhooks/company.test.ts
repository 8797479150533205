/** The first subscription of an instance, while another process believes that there is none. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { environment, startApp } from '../../../test/support/harness.ts';
import { createApp } from '../../app.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { createLog } from '../../kernel/observability/log.ts';

test('201 is answered when every process knows: no event that begins afterwards is missed', async () => {
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
  /** Answers the id of the token. */
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
  const untilNobodyIsThought = async () => {
    while (!other.deliveries.company.isAbsent()) await issueElsewhere();
  };
  const requireTold = async (id: string, tokenId: string, what: string) => {
    const told = await t.sql(
      "select 1 from webhook_deliveries where subscription_id = $1 and payload::json -> 'data' ->> 'tokenId' = $2",
      [id, tokenId],
    );
    assert.equal(told.length, 1, what);
  };

  const payload = { name: 'First', url: 'https://receiver.invalid/', events: ['token.issued'] };
  for (let round = 0; round < 3; round += 1) {
    await untilNobodyIsThought();
    const { id } = (await t.call('POST', api, { token, payload })).json;
    await requireTold(id, await issueElsewhere(), `round ${round}: created`);

    await t.call('PATCH', `${api}/${id}`, { token, payload: { active: false } });
    await untilNobodyIsThought();
    await t.call('PATCH', `${api}/${id}`, { token, payload: { active: true } });
    await requireTold(id, await issueElsewhere(), `round ${round}: activated`);
    await t.call('DELETE', `${api}/${id}`, { token });
  }
});
