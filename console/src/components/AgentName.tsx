import { useAgentById } from '../api/agent-names.ts';
import { PageLink } from '../app/navigation.tsx';
import classes from './AgentName.module.css';
import { TenantText, visibleText } from './TenantText.tsx';

interface AgentNameProps {
  readonly agentId: string | null | undefined;
  /** False: text instead of a link to the agent. */
  readonly link?: boolean;
}

const idStart = 8;
/** In events that no agent caused or that concern none. */
const noAgent = '00000000-0000-0000-0000-000000000000';

/** The name of an agent by its id. All names on display arrive with one request. */
export function AgentName({ agentId, link = true }: AgentNameProps) {
  const agent = useAgentById(agentId === noAgent ? undefined : (agentId ?? undefined));
  if (!agentId || agentId === noAgent) return <TenantText text="" />;
  // Of another organization, or still loading.
  const name = agent ? (
    <TenantText text={agent.displayName ?? agent.email} />
  ) : (
    <code title={visibleText(agentId)}>{visibleText(agentId.slice(0, idStart))}</code>
  );
  return link && agent ? (
    <PageLink to="/agents/$agentId" params={{ agentId }} className={classes.link}>
      {name}
    </PageLink>
  ) : (
    name
  );
}
