/** Webhook subscriptions and deliveries, created in SQL. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';

export const tlsFixture = (name: string): string =>
  fileURLToPath(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url));
export const signingSecret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

/** The settings of a server that delivers to a receiver of the bench. */
export const deliveringLocally = {
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  NODE_EXTRA_CA_CERTS: tlsFixture('ca.pem'),
};

/** Returns the id of the subscription. */
export async function subscribe(
  client: pg.Client,
  url: string,
  event: string,
  slug = 'bench-1',
): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `insert into webhook_subscriptions
       (subscription_id, organization_id, name, url, events, active, signing_secret, created_at, updated_at)
     select gen_random_uuid(), organization_id, 'bench', $1, array[$2], true, $3, now(), now()
     from organizations where slug = $4 returning subscription_id as id`,
    [url, event, signingSecret, slug],
  );
  return rows[0]?.id ?? '';
}

/** Inserts rows and the notification as the outbox does. Returns the time just before the commit. */
export async function insertDeliveries(
  client: pg.Client,
  subscription: string,
  count: number,
): Promise<number> {
  await client.query('begin');
  await client.query(
    `insert into webhook_deliveries
       (delivery_id, subscription_id, event_id, event_type, payload, status, due_at, created_at, updated_at)
     select gen_random_uuid(), $1::uuid, gen_random_uuid(), 'token.revoked', $3, 'pending', now(), now(), now()
     from generate_series(1, $2::int)`,
    [subscription, count, payload],
  );
  await client.query("select pg_notify('webhook_deliveries', '')");
  const committing = Date.now();
  await client.query('commit');
  return committing;
}

export const payload = JSON.stringify({
  id: randomUUID(),
  type: 'token.revoked',
  organizationId: randomUUID(),
  timestamp: new Date().toISOString(),
  data: {
    agentId: randomUUID(),
    tokenId: randomUUID(),
    scope: 'agents:read',
    expiresAt: new Date().toISOString(),
  },
});
