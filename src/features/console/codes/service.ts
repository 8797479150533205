/** One-time codes: a person who has signed in to the console signs in the command line, without a secret of a client. */

import { createHash } from 'node:crypto';
import { limits } from '../../../contract/limits.ts';
import type { Caller } from '../../../kernel/caller.ts';
import { fail } from '../../../kernel/fail.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import { hashSecret } from '../../../kernel/secrets.ts';
import type { ConsoleDeps } from '../feature.ts';
import type { CommandLineCode } from '../schema.ts';
import { type SessionService, timesAt } from '../sessions/service.ts';
import { lockSession } from '../sessions/store.ts';
import { putCode } from './store.ts';

export interface CodeService {
  /** With a challenge, the code is of use only with the verifier of the challenge (RFC 7636). */
  create(caller: Caller, cookies: string, challenge?: string): Promise<CommandLineCode>;
}

/**
 * The hash under which a code is stored. A verifier is part of what is looked up: a code that was made with a challenge is not found
 * without its verifier, and one that was made without is not found with any. No code begins as the text with a challenge does.
 */
export const codeHashOf = (code: string, challenge?: string): Buffer =>
  hashSecret(challenge === undefined ? code : `S256.${challenge}.${code}`);

export const challengeOf = (verifier: string): string =>
  createHash('sha256').update(verifier).digest('base64url');

/** Secret scanners search for this prefix. It also tells these codes from those of links. */
export const codePrefix = 'csc_';

export function createCodeService(
  { db, clock, ids, ledger }: Pick<ConsoleDeps, 'db' | 'clock' | 'ids' | 'ledger'>,
  sessions: Pick<SessionService, 'require'>,
): CodeService {
  return {
    async create(caller, cookies, challenge) {
      const { sessionId, method, agentId } = await sessions.require(cookies);
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
        await putCode(tx, sessionId, codeHashOf(code, challenge), new Date(end));
        await ledger.record(tx, caller, 'session.code_created', {
          agentId: agentId ?? nilUuid,
          organizationId,
          metadata: { sessionId, expiresAt },
        });
        return { code, expiresAt, expiresIn: Math.floor((end - now) / 1_000) };
      });
    },
  };
}
