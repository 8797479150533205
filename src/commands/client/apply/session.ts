/** A run against a server: its id, which the audit log shows, its calls, and the client that makes them. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packageRoot } from '../../../kernel/package-root.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { type Account, type AccountOptions, accountFrom } from '../account.ts';
import { connect } from '../connection.ts';
import { fetchIdentity } from '../profiles/session.ts';
import { type ApplyApi, createApi } from './api.ts';

export interface Session {
  readonly api: ApplyApi;
  readonly run: string;
  /** Of every request, and so of every audit event that the run causes. */
  readonly userAgent: string;
  readonly callerId: string;
  /** Of the person in a session; undefined for a client. */
  readonly personId: string | undefined;
}

export async function openSession(
  io: Io,
  options: AccountOptions,
  command: 'apply' | 'export' | 'import',
): Promise<Session> {
  const { version } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'));
  const run = randomUUID();
  const userAgent = `countersign-${command}/${version} (run ${run})`;
  const caller = await callerOf(accountFrom(io, options));
  return { api: createApi(io, connect(io, options), { userAgent, run }), run, userAgent, ...caller };
}

/** The client id of an agent is its agent id. */
async function callerOf(account: Account): Promise<Pick<Session, 'callerId' | 'personId'>> {
  if (!('session' in account)) return { callerId: account.clientId, personId: undefined };
  const { agentId, person } = await fetchIdentity(account);
  if (agentId === null)
    throw new CommandError(
      'you are a member of the organization, and members manage nothing in it; ask an administrator',
      exitCodes.notPermitted,
    );
  return { callerId: agentId, personId: person?.personId };
}
