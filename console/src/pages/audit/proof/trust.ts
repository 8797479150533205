/** The keys that signed the log: trust goes from the published ones back, statement by statement. */
import type { ReadStatement } from '../../../../../sdk/typescript/src/audit/statements.ts';
import { type Trust, trustFrom } from '../../../../../sdk/typescript/src/audit/trusted-keys.ts';
import type { Evidence } from './evidence.ts';

export async function readTrust(
  read: ReadStatement,
  { keys, publishedKeys }: Pick<Evidence, 'keys' | 'publishedKeys'>,
): Promise<Trust> {
  const published = await publishedKeys();
  const rows = (await keys()).map(({ time, ...entry }) => ({ ...entry, at: time }));
  return trustFrom(read, published, rows);
}
