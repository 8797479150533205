/** The tools, in the order in which they are listed. */
import type { Tool } from './tool.ts';
import { agentAccess, expiringSecrets, findAgents } from './tools/agents.ts';
import { requestApproval, waitForApproval } from './tools/approvals.ts';
import { actions, refusals, verifyLog } from './tools/log.ts';
import { planChange } from './tools/plan.ts';

export const tools: readonly Tool[] = [
  findAgents,
  agentAccess,
  refusals,
  actions,
  expiringSecrets,
  requestApproval,
  waitForApproval,
  planChange,
  verifyLog,
];
