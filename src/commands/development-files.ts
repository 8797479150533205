/** The files in the data folder of `countersign dev`. */
import { join } from 'node:path';

export const developmentFiles = (data: string) => ({
  admin: join(data, 'admin.json'),
  postgres: join(data, 'postgres'),
  privateKey: join(data, 'signing-key.pem'),
  publicKey: join(data, 'signing-key.pub.pem'),
  logKey: join(data, 'log-key.pem'),
  encryptionKey: join(data, 'encryption-key'),
});
