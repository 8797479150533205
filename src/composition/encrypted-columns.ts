import { encryptedPings } from '../features/approvals/notifications-store.ts';
import { encryptedClientSecrets } from '../features/connections/encrypted-secrets-store.ts';
import { encryptedResponses } from '../features/idempotency/encrypted-responses-store.ts';
import { encryptedAuthorizationHeaders } from '../features/signals/streams-store.ts';
import { encryptedSecrets } from '../features/webhooks/subscriptions/encrypted-secrets-store.ts';
import type { EncryptedColumn } from '../kernel/data/encrypted-column.ts';

/** Every column that the vault encrypts: the rotation of the key and `countersign doctor` read these, and no others. */
export const encryptedColumns: readonly EncryptedColumn[] = [
  ...encryptedSecrets,
  encryptedClientSecrets,
  encryptedResponses,
  encryptedPings,
  encryptedAuthorizationHeaders,
];
