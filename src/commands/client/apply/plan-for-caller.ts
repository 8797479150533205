/** The plan of an identity file for a caller of this server, which has no terminal and no files: the MCP server asks for it. */
import { ApiError as Refusal } from '../../../../sdk/typescript/src/errors.ts';
import type { PlanRequest } from '../../../kernel/ports/mcp.ts';
import { CommandError } from '../../command-error.ts';
import { ApiError } from '../connection.ts';
import { type ApplyApi, readingApi } from './api.ts';
import { createProblems, readIdentity } from './file/identity-file.ts';
import { extentOf, readLiveState } from './live-state.ts';
import { makePlan } from './plan.ts';
import { planAsJson, summaryOf } from './print-plan.ts';
import { createReferences } from './references.ts';

export type PlanAnswer =
  | { readonly summary: string; readonly changes: readonly object[] }
  | { readonly problem: string };

export async function planForCaller({
  text,
  callerId,
  personId: ownPersonId,
  url,
  read,
}: PlanRequest): Promise<PlanAnswer> {
  try {
    const file = readIdentity([{ name: 'file', text }]);
    const api = readingApi(url, (path, query) => asCommand(read(path, query)));
    const live = await readLiveState(api as ApplyApi, callerId, extentOf(file, false));
    const problems = createProblems();
    const references = createReferences(file, live, problems);
    const clientSecrets = { sendAll: false, read: () => '' };
    const changes = makePlan({
      file,
      live,
      references,
      problems,
      ownPersonId,
      clientSecrets,
      pruned: undefined,
    }).flat();
    return { summary: summaryOf(changes), changes: changes.map(planAsJson) };
  } catch (error) {
    if (error instanceof CommandError) return { problem: error.message };
    throw error;
  }
}

/** A refusal as the commands know it: some are answers, such as that of a client that may not list organizations. */
const asCommand = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error) => {
    if (!(error instanceof Refusal)) throw error;
    throw new ApiError(error.status, error.code, error.message, error.details);
  });
