/** Organizations on a plan, and rows that use up a day or a month. */
import { randomUUID } from 'node:crypto';
import type { TestApp } from '../harness.ts';

export interface Tenant {
  readonly organizationId: string;
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Its first token, which is counted like any other. */
  readonly token: string;
}

/** A new organization with one agent, created by the operator. */
export async function createTenant(t: TestApp, plan: Record<string, unknown> = {}): Promise<Tenant> {
  const { organizationId } = (
    await t.call('POST', '/api/v1/organizations', {
      token: await t.token(),
      payload: { name: 'Tenant', slug: `tenant-${randomUUID()}`, ...plan },
    })
  ).json;
  const agent = await t.agent({ organization_id: organizationId });
  return { organizationId, ...agent, token: await t.token(undefined, agent) };
}

export const requestToken = (
  t: TestApp,
  { clientId, clientSecret }: Pick<Tenant, 'clientId' | 'clientSecret'>,
) => t.askToken({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret });

type Sql = TestApp['sql'];
type UsageOwner = Pick<Tenant, 'organizationId' | 'agentId'>;

/** Adds calls of the current day, as another process would write them. */
export const insertCallUsage = (
  sql: Sql,
  { organizationId, agentId }: UsageOwner,
  calls: number,
  now: number,
) =>
  sql(
    `insert into usage_days (organization_id, day, metric, agent_id, shard, quantity)
     values ($1, $2, 'api_calls', $3, 99, $4)`,
    [organizationId, new Date(now).toISOString().slice(0, 10), agentId, calls],
  );

/** Adds tokens of the current hour. */
export async function insertTokenUsage(
  sql: Sql,
  { organizationId, agentId }: UsageOwner,
  tokens: number,
  now: number,
) {
  await sql(
    `insert into token_hours (organization_id, hour, shard, tokens)
     values ($1, date_trunc('hour', $2::timestamptz, 'UTC'), 99, $3)`,
    [organizationId, new Date(now), tokens],
  );
  await insertMonthUsage(sql, { organizationId, agentId }, tokens, now);
}

/** Adds tokens from earlier in the month, which do not count for the day. */
export const insertMonthUsage = (
  sql: Sql,
  { organizationId, agentId }: UsageOwner,
  tokens: number,
  now: number,
) =>
  sql(
    `insert into token_months (organization_id, month, agent_id, shard, tokens) values ($1, $2, $3, 99, $4)`,
    [organizationId, `${new Date(now).toISOString().slice(0, 7)}-01`, agentId, tokens],
  );

/** `{200: 1, 429: 49}` */
export const countByStatus = (answers: readonly { status: number }[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

export const concurrently = <T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));

const dayMs = 86_400_000;

export const untilMidnight = (now: number): number => dayMs - (now % dayMs);

export function untilNextMonth(now: number): number {
  const today = new Date(now);
  return Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1) - now;
}
