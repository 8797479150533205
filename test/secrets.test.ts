/** Secrets appear only in the response that creates them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAgent, startApp } from './support/harness.ts';

test('no list, log line, metric, audit row or document contains a secret', async () => {
  const key = Buffer.alloc(32, 1).toString('base64');
  const t = await startApp({ LOG_LEVEL: 'trace', DATA_ENCRYPTION_KEY: key });
  const token = await t.token();
  const secrets = [t.operator.clientSecret, token];
  const seen: string[] = [];
  const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const answer = await t.call(method, url, { token, ...(payload && { payload }) });
    return answer;
  };
  const look = async (url: string) => seen.push((await call('GET', url)).text);

  for (let count = 0; count < 5; count += 1) {
    const { agentId } = (await call('POST', '/api/v1/agents', newAgent())).json;
    const minted = (await call('POST', `/api/v1/agents/${agentId}/credentials`)).json;
    const path = `/api/v1/agents/${agentId}/credentials/${minted.credentialId}`;
    const rotated = (await call('POST', `${path}/rotate`)).json;
    secrets.push(minted.clientSecret, rotated.clientSecret, await t.token(undefined, rotated));
    // Refusals and failures, which tend to repeat their input.
    seen.push(
      (
        await t.askToken({
          grant_type: 'client_credentials',
          client_id: agentId,
          client_secret: minted.clientSecret,
        })
      ).text,
    );
    seen.push(
      (await t.askToken({ grant_type: 'password', client_id: agentId, client_secret: rotated.clientSecret }))
        .text,
    );
    seen.push((await call('POST', '/api/v1/agents', { clientSecret: rotated.clientSecret })).text);
    seen.push((await t.call('GET', `/api/v1/agents/${rotated.clientSecret}`, { token })).text);
    seen.push((await t.call('GET', '/api/v1/agents', { token: `${token}x` })).text);
    const lent = (
      await call('POST', '/api/v1/delegations', { delegateeId: agentId, scopes: ['agents:read'] })
    ).json;
    const exchange = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: agentId,
      client_secret: rotated.clientSecret,
      subject_token: lent.delegationToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    };
    secrets.push(lent.delegationToken, (await t.askToken(exchange)).json.access_token);
    seen.push((await t.askToken({ ...exchange, client_id: t.operator.clientId })).text);
    seen.push((await t.askToken({ ...exchange, scope: 'admin:orgs' })).text);
    await call('POST', '/api/v1/delegations/verify', { token: lent.delegationToken });
    await look(`/api/v1/delegations/${lent.chainId}`);
    await look('/api/v1/delegations');
    const webhook = { name: 'Receiver', url: 'https://receiver.example/', events: ['*'] };
    const { id, signingSecret } = (await call('POST', '/api/v1/webhooks', webhook)).json;
    secrets.push(signingSecret);
    await call('POST', `/api/v1/webhooks/${id}/test`);
    await look(`/api/v1/webhooks/${id}`);
    await look(`/api/v1/webhooks/${id}/deliveries`);
    const again = (await call('POST', `/api/v1/webhooks/${id}/rotate-secret`)).json;
    secrets.push(again.signingSecret);
    await look('/api/v1/webhooks');
    await look(`/api/v1/agents/${agentId}`);
    await look(`/api/v1/agents/${agentId}/credentials`);
    await look(`/api/v1/agents/${agentId}/keys`);
  }
  // An internal error, logged with its stack.
  await t.sql('alter table credentials rename to credentials_gone');
  assert.equal(
    (
      await t.askToken({
        grant_type: 'client_credentials',
        client_id: t.operator.clientId,
        client_secret: t.operator.clientSecret,
      })
    ).status,
    500,
  );
  await t.sql('alter table credentials_gone rename to credentials');

  for (const url of ['/api/v1/agents', '/api/v1/organizations', '/metrics', '/openapi.json']) await look(url);
  const webhooks = ['webhook_subscriptions', 'webhook_outbox', 'webhook_deliveries'];
  for (const table of [
    'audit_events',
    'agents',
    'organizations',
    'memberships',
    'delegations',
    ...webhooks,
  ]) {
    seen.push(
      ...(await t.sql<{ row: string }>(`select row_to_json(x)::text as row from ${table} x`)).map(
        ({ row }) => row,
      ),
    );
  }
  seen.push(
    ...(await t.sql<{ row: string }>('select row_to_json(x)::text as row from credentials x')).map(
      ({ row }) => row,
    ),
  );
  assert.ok(t.logs.length > 20, 'the log was on');
  seen.push(...t.logs);

  assert.equal(secrets.length, 37);
  for (const secret of secrets) {
    const leak = seen.find((text) => text.includes(secret));
    assert.equal(leak?.slice(0, 300), undefined);
  }
});
