/** `countersign approvals approve` and `deny`, by the person of a session. */
import { isUuid } from '../../../kernel/ids.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { printJson, quoted } from '../../terminal.ts';
import type { AccountOptions } from '../account.ts';
import { type Entry, printEntry } from '../api/table.ts';
import { connect } from '../connection.ts';
import { readSeconds } from './seconds.ts';

interface DecideOptions extends AccountOptions {
  readonly scopes?: string;
  readonly accessExpiresIn?: string;
  readonly allowRedelegation?: boolean;
  readonly json?: boolean;
}

export async function decide(
  io: Io,
  decision: 'approve' | 'deny',
  approvalId: string,
  options: DecideOptions,
): Promise<void> {
  if (!isUuid(approvalId))
    throw new CommandError(`${quoted(approvalId)} is no id of an approval`, exitCodes.usage);
  const { scopes, accessExpiresIn, allowRedelegation } = options;
  const approval = await connect(io, options).call<Entry>('POST', `/approvals/${approvalId}`, {
    own: true,
    body: {
      decision,
      ...(scopes !== undefined && { scopes: scopes.split(/[\s,]+/).filter(Boolean) }),
      ...(accessExpiresIn !== undefined && {
        accessExpiresIn: readSeconds('--access-expires-in', accessExpiresIn),
      }),
      ...(allowRedelegation && { allowRedelegation }),
    },
  });
  if (options.json) printJson(io, approval);
  else printEntry(io, approval, io.stdout.isTTY ? io.stdout.columns : undefined);
}
