/** An app that may deliver to loopback, with subscriptions, deliveries and a second worker. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type App, createApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { createLog } from '../../../src/kernel/observability/log.ts';
import { environment, newAgent, startApp, type TestApp, withLongConnectTimeout } from '../harness.ts';
import { trustTestAuthority } from '../peers/receivers.ts';

export const api = '/api/v1/webhooks';

export interface Subscription {
  readonly id: string;
  readonly signingSecret: string;
}

export interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly event_type: string;
  readonly http_status_code: number | null;
  readonly attempt_count: number;
  readonly next_retry_at: string | null;
  readonly delivered_at: string | null;
  readonly updated_at: string;
  readonly payload: Record<string, unknown>;
  readonly attempts: readonly {
    attempted_at: string;
    duration_ms: number;
    http_status_code: number | null;
    error: string | null;
    response_excerpt: string | null;
  }[];
}

export interface WebhookApp extends TestApp {
  /** The operator's token, reused so that requests raise no further token events. */
  readonly bearer: string;
  subscribe(url: string, events?: readonly string[]): Promise<Subscription>;
  deliveries(id: string): Promise<Delivery[]>;
  /** Raises one event of the operator's organization. */
  raiseEvent(): Promise<void>;
  /** Inserts pending deliveries, as the fan-out would. */
  insertDeliveries(id: string, count: number): Promise<void>;
  drain(): Promise<void>;
  /** A second app on the same database and clock. */
  anotherWorker(changes?: Record<string, string>): Promise<App>;
}

export async function startWebhookApp(changes: Record<string, string> = {}): Promise<WebhookApp> {
  trustTestAuthority();
  const settings = { WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', ...changes };
  const t = await startApp(settings);
  // With an older subscription, a new one takes effect at once. This one subscribes to no events.
  await t.sql(
    `insert into webhook_subscriptions
       (subscription_id, organization_id, name, url, events, active, signing_secret, created_at, updated_at)
     values (gen_random_uuid(), $1, 'Older', 'https://receiver.invalid/', '{}', true, '', '2020-01-01', '2020-01-01')`,
    [t.operator.organizationId],
  );
  // It was inserted by SQL, so the app may still cache that there is none.
  await sleep(300);
  let issued = 0;
  let bearer = await t.token();
  const renew = async () => {
    if (t.clock.now() - issued < 3_000_000) return bearer;
    issued = t.clock.now();
    bearer = await t.token();
    return bearer;
  };
  const callOk = async (method: 'GET' | 'POST', url: string, payload?: object) => {
    const answer = await t.call(method, url, { token: await renew(), ...(payload && { payload }) });
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
  return {
    ...t,
    get bearer() {
      return bearer;
    },
    subscribe: (url, events = ['agent.created']) => callOk('POST', api, { name: 'Receiver', url, events }),
    async deliveries(id) {
      await t.app.deliveries.fanOut();
      return (await callOk('GET', `${api}/${id}/deliveries?limit=100`)).deliveries;
    },
    async raiseEvent() {
      await callOk('POST', '/api/v1/agents', newAgent());
    },
    async insertDeliveries(id, count) {
      await t.sql(
        `insert into webhook_deliveries
           (delivery_id, subscription_id, event_id, event_type, payload, status, due_at, created_at, updated_at)
         select gen_random_uuid(), $1::uuid, gen_random_uuid(), 'agent.created', json_build_object('n', n, 'data', json_build_object('agentId', $4::uuid))::text, 'pending',
                $3, $3, $3
         from generate_series(1, $2::int) as n`,
        [id, count, new Date(t.clock.now()).toISOString(), t.operator.agentId],
      );
    },
    drain: () => t.app.deliveries.drain(),
    async anotherWorker(ownChanges) {
      const config = loadConfig(
        environment(withLongConnectTimeout(t.databaseUrl), { ...settings, ...ownChanges }),
      );
      const app = await createApp({ config, log: createLog({ level: 'silent' }), clock: t.clock });
      let closing: Promise<void> | undefined;
      const close = () => {
        closing ??= app.close();
        return closing;
      };
      after(close);
      return { ...app, close };
    },
  };
}
