/** Agents that can change something through our API. The text is that of the index `agents_with_writing_scopes` (migration 0039). */
import { writingAgentLimits } from '../../contract/limits.ts';
import { sql } from './sql.ts';

export const holdsWritingScope = sql`status <> 'decommissioned'
  and allowed_scopes && array['agents:write', 'webhooks:write', 'resources:write', 'admin:orgs']::text[]`;

/** The writing scopes among those that the agent may hold. */
export const writingScopesOf = sql`array(
  select scope from unnest(allowed_scopes) scope where scope like '%:write' or scope = 'admin:orgs'
)`;

/** Administration needs a few such agents. More of them mean that agents got scopes that their work does not need. */
export const areFew = ({ holders, agents }: { holders: number; agents: number }): boolean =>
  holders <= Math.max(writingAgentLimits.few, agents * writingAgentLimits.share);
