/** The audit archive, where it is configured. */
import { loadArchive } from '../../kernel/config/config.ts';
import { type Check, ok, problem, reasonOf, skipped } from './check.ts';

const name = 'audit archive';
const remedy = 'until it works, the audit log of closed days stays in the database';
/** Less than that of the check, so that the reason is known. */
const timeoutMs = 20_000;

export const archiveCheck: Check = {
  name,
  remedy,
  async run({ env }) {
    const settings = loadArchive(env);
    if (!settings) return [skipped(name, 'not configured')];
    const { openObjectStorage } = await import('../../adapters/object-storage/open.ts');
    const storage = await openObjectStorage(settings);
    const late = AbortSignal.timeout(timeoutMs);
    try {
      return [ok(name, `${storage.location}: ${(await storage.check(late)).join('; ')}`)];
    } catch (error) {
      const found = late.aborted
        ? `${storage.location}: no answer within ${timeoutMs / 1_000} seconds`
        : reasonOf(error);
      return [problem(name, found, remedy)];
    } finally {
      await storage.close();
    }
  },
};
