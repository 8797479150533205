import type { Queryable } from '../../../kernel/data/db.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import type { Subscription } from '../schema.ts';

const columns = sql`
  subscription_id as id, organization_id, name, url, events, active, failure_count, previous_secret_expires_at,
  created_at, updated_at`;

/** Undefined for operators: they see every organization. */
const ofTenant = (organizationId: string | undefined) =>
  organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`;

export async function insertSubscription(
  db: Queryable,
  subscription: Subscription,
  { sealedSecret, halted }: { sealedSecret: string; halted: boolean },
): Promise<void> {
  const { id, organization_id, name, url, events, active, failure_count, created_at, updated_at } =
    subscription;
  await db.run(
    'webhooks.insert',
    sql`insert into webhook_subscriptions
          (subscription_id, organization_id, name, url, events, active, halted, signing_secret, failure_count,
           created_at, updated_at)
        values
          (${id}, ${organization_id}, ${name}, ${url}, ${events}, ${active}, ${halted}, ${sealedSecret},
           ${failure_count}, ${created_at}, ${updated_at})`,
  );
}

export async function countSubscriptions(db: Queryable, organizationId: string): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'webhooks.count',
    sql`select count(*) as total from webhook_subscriptions where organization_id = ${organizationId}`,
  );
  return total;
}

export const listSubscriptions = (db: Queryable, organizationId: string): Promise<Subscription[]> =>
  db.many(
    'webhooks.list',
    sql`select ${columns} from webhook_subscriptions where organization_id = ${organizationId}
        order by created_at, subscription_id`,
  );

export const findSubscription = (
  db: Queryable,
  tenant: string | undefined,
  id: string,
): Promise<Subscription | undefined> =>
  db.maybe(
    'webhooks.find',
    sql`select ${columns} from webhook_subscriptions where subscription_id = ${id} and ${ofTenant(tenant)}`,
  );

export const lockSubscription = (
  db: Queryable,
  tenant: string | undefined,
  id: string,
): Promise<Subscription | undefined> =>
  db.maybe(
    'webhooks.lock',
    sql`select ${columns} from webhook_subscriptions where subscription_id = ${id} and ${ofTenant(tenant)}
        for no key update`,
  );

export async function updateSubscription(db: Queryable, subscription: Subscription): Promise<void> {
  const { id, name, url, events, active, failure_count, updated_at } = subscription;
  await db.run(
    'webhooks.update',
    sql`update webhook_subscriptions
        set name = ${name}, url = ${url}, events = ${events}, active = ${active}, failure_count = ${failure_count},
            updated_at = ${updated_at}
        where subscription_id = ${id}`,
  );
}

interface SealedSecrets {
  readonly current: string;
  readonly previous: string | null;
  readonly previousExpiresAt: string | null;
}

export async function findSealedSecret(db: Queryable, id: string): Promise<string> {
  const { secret } = await db.one<{ secret: string }>(
    'webhooks.findSecret',
    sql`select signing_secret as secret from webhook_subscriptions where subscription_id = ${id}`,
  );
  return secret;
}

export async function replaceSecrets(
  db: Queryable,
  id: string,
  { current, previous, previousExpiresAt }: SealedSecrets,
  updatedAt: string,
): Promise<void> {
  await db.run(
    'webhooks.replaceSecret',
    sql`update webhook_subscriptions
        set signing_secret = ${current}, previous_signing_secret = ${previous},
            previous_secret_expires_at = ${previousExpiresAt}, updated_at = ${updatedAt}
        where subscription_id = ${id}`,
  );
}

/** Erases previous secrets whose time is over. Rows that are locked are left to the next round. */
export const erasePreviousSecrets = (db: Queryable, now: string): Promise<number> =>
  db.run(
    'webhooks.erasePreviousSecrets',
    sql`update webhook_subscriptions set previous_signing_secret = null, previous_secret_expires_at = null
        where subscription_id in (
          select subscription_id from webhook_subscriptions where previous_secret_expires_at <= ${now}
          for no key update skip locked)`,
  );

export async function deleteSubscription(db: Queryable, id: string): Promise<void> {
  await db.run('webhooks.delete', sql`delete from webhook_subscriptions where subscription_id = ${id}`);
}

/** Locks in the same order as the workers (delivery/result-store.ts), so that they do not deadlock. */
export async function haltSubscriptions(
  db: Queryable,
  organizationId: string,
  halted: boolean,
): Promise<void> {
  await db.run(
    'webhooks.halt',
    sql`with locked as (
          select subscription_id as id from webhook_subscriptions where organization_id = ${organizationId}
          order by 1 for no key update
        )
        update webhook_subscriptions s set halted = ${halted} from locked where s.subscription_id = locked.id`,
  );
}

export const findActiveSubscription = (db: Queryable): Promise<object | undefined> =>
  db.maybe(
    'webhooks.findActive',
    prepared(sql`select subscription_id from webhook_subscriptions where active limit 1`),
  );

/** A subscription that has been active since then, locked so that it stays active until the transaction ends. */
export const lockOlderSubscription = (db: Queryable, since: string): Promise<object | undefined> =>
  db.maybe(
    'webhooks.lockOlder',
    sql`select subscription_id from webhook_subscriptions where active and updated_at < ${since} limit 1
        for share skip locked`,
  );
