import { columnByUuid } from '../../kernel/data/encrypted-column.ts';

export const encryptedClientSecrets = columnByUuid('connections', {
  table: 'connections',
  key: 'connection_id',
  column: 'client_secret',
});
