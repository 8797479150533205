/** The API for a tool: the typed client of the SDK, whose requests stay in this process and have the identity of the caller. */
import { type Api, createApi } from '../../../sdk/typescript/src/api.ts';
import type { OperationId } from '../../../sdk/typescript/src/generated.ts';
import { withQuery } from '../../../sdk/typescript/src/request-rules.ts';
import { readError, readJson } from '../../../sdk/typescript/src/response.ts';
import type { SendInner } from '../../kernel/http/access/inner-requests.ts';
import type { PlanRequest } from '../../kernel/ports/mcp.ts';

export function createApiAsCaller(
  allowed: readonly OperationId[],
  sendInner: SendInner,
): { readonly api: Api; readonly read: PlanRequest['read'] } {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const sent = await sendInner(allowed, {
      method: init.method ?? 'GET',
      url: path,
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(typeof init.body === 'string' && { body: init.body }),
    });
    const { status, text, headers } = sent;
    const response = new Response(status === 204 ? null : text, { status, headers });
    if (!response.ok) throw await readError(response);
    return response;
  };
  return {
    api: createApi(async ({ path, init }, read) => read(await send(path, init))),
    read: async <T>(path: string, query: Readonly<Record<string, unknown>> = {}) =>
      (await readJson(await send(`/api/v1${withQuery(path, query)}`, {}))) as T,
  };
}
