import { columnByUuid, type EncryptedColumn } from '../../../kernel/data/encrypted-column.ts';

const columnOf = (column: string): EncryptedColumn =>
  columnByUuid('webhooks', { table: 'webhook_subscriptions', key: 'subscription_id', column });

export const encryptedSecrets: readonly EncryptedColumn[] = [
  columnOf('signing_secret'),
  columnOf('previous_signing_secret'),
];
