/** The signing secrets for the rotation of the encryption key. `updated_at` stays: a subscriber sees no change. */
import type { EncryptedColumn, Replacement } from '../../../kernel/data/encrypted-column.ts';
import { sql } from '../../../kernel/data/sql.ts';
import { keyIdOf } from '../../../kernel/data/vault.ts';

const columns = {
  signing_secret: sql`signing_secret`,
  previous_signing_secret: sql`previous_signing_secret`,
} as const;

const columnOf = (name: keyof typeof columns): EncryptedColumn => {
  const column = columns[name];
  return {
    name: `webhook_subscriptions.${name}`,
    newestByKey: (db) =>
      db.many(
        'webhooks.newestByKey',
        sql`with keys as (
              select ${keyIdOf(column)} as id, count(*) as rows
              from webhook_subscriptions where ${column} is not null group by 1
            )
            select keys.id as "keyId", keys.rows,
                   json_build_object('id', newest.id, 'owner', newest.id, 'text', newest.text) as newest
            from keys cross join lateral (
              select subscription_id::text as id, ${column} as text from webhook_subscriptions
              where ${column} is not null and ${keyIdOf(column)} is not distinct from keys.id
              order by created_at desc, subscription_id desc limit 1
            ) newest
            order by keys.id`,
      ),
    read: (db, { unlessEncryptedWith: prefix = null, after, atMost }) =>
      db.many(
        'webhooks.readEncrypted',
        sql`select subscription_id::text as id, subscription_id::text as owner, ${column} as text
            from webhook_subscriptions
            where ${column} is not null and (${prefix}::text is null or not starts_with(${column}, ${prefix}))
              and (${after ?? null}::uuid is null or subscription_id > ${after ?? null}::uuid)
            order by subscription_id limit ${atMost}`,
      ),
    // Locks in the same order as the workers (delivery/result-store.ts), so that they do not deadlock.
    replace: (db, replacements) =>
      db.run(
        'webhooks.replaceEncrypted',
        sql`with wanted as (
              select * from unnest(${list(replacements, 'id')}::uuid[], ${list(replacements, 'text')}::text[],
                                   ${list(replacements, 'replacement')}::text[]) as w (id, text, replacement)
            ), locked as (
              select subscription_id as id from webhook_subscriptions
              where subscription_id in (select id from wanted)
              order by 1 for no key update
            )
            update webhook_subscriptions s set ${column} = wanted.replacement
            from locked join wanted on wanted.id = locked.id
            where s.subscription_id = locked.id and s.${column} = wanted.text`,
      ),
  };
};

const list = (replacements: readonly Replacement[], field: 'id' | 'text' | 'replacement') =>
  replacements.map((each) => each[field]);

export const encryptedSecrets: readonly EncryptedColumn[] = [
  columnOf('signing_secret'),
  columnOf('previous_signing_secret'),
];
