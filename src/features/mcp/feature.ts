/**
 * MCP: the questions that assistants ask an identity provider, as tools of the Model Context Protocol. Owns no tables and reads none: a
 * tool calls operations of the API as its caller, so that it can see and do what the caller's token can, and nothing else. The first
 * request loads the tools, because the list of all operations takes long to load.
 */
import type { Caller } from '../../kernel/caller.ts';
import type { McpDocument, PlanRequest, ServeMcp } from '../../kernel/ports/mcp.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import { mcpRoutes } from './routes.ts';
import type { ApprovalRequest, ToolContext } from './tool.ts';

export interface McpDeps extends Pick<SharedDeps, 'clock' | 'ids' | 'log'> {
  readonly issuer: string;
  /** The origins of pages that may call the API from a browser; `*` for all. */
  readonly corsOrigin: string | string[] | undefined;
  readonly version: string;
  readonly serve: ServeMcp;
  readonly sleep: ToolContext['sleep'];
  /** The plan of an identity file. Undefined where the server makes no plans. */
  readonly planChange: ((request: PlanRequest) => Promise<object>) | undefined;
  /** Counts a plan of the organization; whether it is one too many in this minute. */
  exceedsPlans(organizationId: string): Promise<boolean>;
  requestApproval(caller: Caller, request: ApprovalRequest): Promise<string>;
  readonly documents: {
    list(): Promise<readonly McpDocument[]>;
    read(uri: string): Promise<string | undefined>;
  };
}

export function createMcp(deps: McpDeps) {
  const load = () => import('./service.ts').then(({ createService }) => createService(deps));
  let loaded: ReturnType<typeof load> | undefined;
  return {
    routes: mcpRoutes(deps, async (exchange) => {
      loaded ??= load();
      return (await loaded)(exchange);
    }),
  };
}
