import type { Agent } from '../api/generated.ts';

export const agentTypes = [
  'screener',
  'classifier',
  'orchestrator',
  'extractor',
  'summarizer',
  'router',
  'monitor',
  'custom',
] as const satisfies readonly Agent['agentType'][];
