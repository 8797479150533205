/** One-time codes: a person who has signed in to the console signs in the command line, without a secret of a client. */

import { limits } from '../../../contract/limits.ts';
import type { Caller } from '../../../kernel/caller.ts';
import { fail } from '../../../kernel/fail.ts';
import { hashSecret } from '../../../kernel/secrets.ts';
import type { ConsoleDeps } from '../feature.ts';
import type { CommandLineCode } from '../schema.ts';
import { type SessionService, timesAt } from '../sessions/service.ts';
import { lockSession } from '../sessions/store.ts';
import { putCode } from './store.ts';

export interface CodeService {
  create(caller: Caller, cookies: string): Promise<CommandLineCode>;
}

/** Secret scanners search for this prefix. It also tells these codes from those of links. */
export const codePrefix = 'csc_';

export function createCodeService(
  { db, clock, ids, ledger }: Pick<ConsoleDeps, 'db' | 'clock' | 'ids' | 'ledger'>,
  sessions: Pick<SessionService, 'require'>,
): CodeService {
  return {
    async create(caller, cookies) {
      const { sessionId, method, agentId } = await sessions.require(cookies);
      if (agentId === null)
        fail('FORBIDDEN', {
          message: 'You are a member: the command line needs the role admin or viewer of the organization.',
        });
      // It would otherwise outlive the sign-out of the session that it came from.
      if (method === 'command-line')
        fail('FORBIDDEN', {
          message: 'The command line cannot make codes: make one in the console, in a browser.',
        });
      const code = ids.secret(codePrefix);
      return db.transaction(async (tx) => {
        const now = clock.now();
        const session = (await lockSession(tx, sessionId, timesAt(now))) ?? fail('UNAUTHORIZED');
        const { organizationId } = session;
        const end = Math.min(now + limits.console.codeSeconds * 1_000, Date.parse(session.expiresAt));
        const expiresAt = new Date(end).toISOString();
        await putCode(tx, sessionId, hashSecret(code), new Date(end));
        await ledger.record(tx, caller, 'session.code_created', {
          agentId,
          organizationId,
          metadata: { sessionId, expiresAt },
        });
        return { code, expiresAt, expiresIn: Math.floor((end - now) / 1_000) };
      });
    },
  };
}
