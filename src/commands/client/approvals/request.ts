/** `countersign approvals request`: an agent asks a person, and can wait for the decision. */
import { type Client, createClient } from '../../../../sdk/typescript/src/client.ts';
import {
  ApprovalDenied,
  ApprovalError,
  ApiError as SdkError,
} from '../../../../sdk/typescript/src/errors.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { print, printError, printJson, quoted } from '../../terminal.ts';
import { type AccountOptions, accountFrom } from '../account.ts';
import { inputsOf, parseJson } from '../api/fields.ts';
import { ApiError, commandErrorOf as connectionErrorOf } from '../http.ts';
import { readSeconds } from './seconds.ts';

interface RequestOptions extends AccountOptions {
  readonly resource: string;
  readonly loginHint: string;
  readonly scope?: string;
  readonly details?: string;
  readonly message?: string;
  readonly expiresIn?: string;
  readonly accessExpiresIn?: string;
  readonly wait?: boolean;
  readonly json?: boolean;
}

type ApprovalRequest = Parameters<Client['requestApproval']>[0];

export async function requestApproval(io: Io, options: RequestOptions): Promise<void> {
  const account = accountFrom(io, options);
  if ('session' in account)
    throw new CommandError(
      `an agent asks, and the profile ${account.profile} is a sign-in from the console: use credentials of an agent, \`countersign login --profile NAME --client-id ID\``,
      exitCodes.notPermitted,
    );
  const { url, clientId, clientSecret } = account;
  try {
    const client = createClient({
      ...{ issuer: url, clientId, auth: clientSecret },
      platform: { sleep: io.sleep },
    });
    await ask(io, client, url, options);
  } catch (error) {
    throw commandErrorOf(error, url);
  }
}

async function ask(io: Io, client: Client, url: string, options: RequestOptions): Promise<void> {
  const approval = await client.requestApproval(approvalRequestOf(io, options));
  const { approvalId, authReqId, expiresIn } = approval;
  const page = `${url}/console/approvals/${encodeURIComponent(approvalId)}`;
  if (!options.wait) {
    if (options.json) return printJson(io, { approvalId, authReqId, expiresIn, url: page });
    print(io, approvalId);
    printError(io, `Waits for a decision for ${expiresIn} seconds: ${quoted(page)}`);
    return;
  }
  printError(io, `${quoted(approvalId)} waits for a decision for ${expiresIn} seconds: ${quoted(page)}`);
  const accessToken = await approval.wait();
  const { scope, expiresAt = 0, authorizationDetails = null } = (await approval.session.tokens()) ?? {};
  const end = new Date(expiresAt).toISOString();
  if (options.json)
    return printJson(io, { approvalId, accessToken, expiresAt: end, scope, authorizationDetails });
  print(io, accessToken);
  printError(io, `approved; valid until ${end}, scope: ${quoted(scope ?? '')}`);
}

function approvalRequestOf(io: Io, options: RequestOptions): ApprovalRequest {
  const { resource, loginHint, scope, details, message, expiresIn, accessExpiresIn } = options;
  const scopes = scope?.split(/[\s,]+/).filter(Boolean);
  return {
    ...{ resource, loginHint, message },
    scopes: scopes?.length ? scopes : undefined,
    details: details === undefined ? undefined : readDetails(io, details),
    expiresIn: expiresIn === undefined ? undefined : readSeconds('--expires-in', expiresIn),
    accessExpiresIn:
      accessExpiresIn === undefined ? undefined : readSeconds('--access-expires-in', accessExpiresIn),
  };
}

/** JSON, the name of a file with or without `@`, or `-`. One object counts as a list of one. */
function readDetails(io: Io, text: string): NonNullable<ApprovalRequest['details']> {
  const isFile = !/^\s*[[{@-]/.test(text);
  const details = [parseJson('--details', isFile ? `@${text}` : text, inputsOf(io))].flat();
  if (details.every((each) => typeof each === 'object' && each !== null && 'type' in each))
    return details as never;
  throw new CommandError('--details must be a list of objects with a type', exitCodes.usage);
}

function commandErrorOf(error: unknown, url: string): unknown {
  if (error instanceof SdkError)
    return new ApiError(
      error.status,
      error.code,
      `${new URL(url).origin} answered ${quoted(error.message)}`,
      error.details,
    );
  if (error instanceof ApprovalError)
    return new CommandError(
      `${quoted(error.message)} (approval ${quoted(error.approvalId)})`,
      error instanceof ApprovalDenied ? exitCodes.notPermitted : exitCodes.failed,
    );
  return error instanceof TypeError
    ? new CommandError(quoted(error.message), exitCodes.usage)
    : connectionErrorOf(error, url);
}
