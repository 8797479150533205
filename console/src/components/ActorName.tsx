import type { AuditEvent } from '../api/generated.ts';
import { AgentName } from './AgentName.tsx';
import { TenantText } from './TenantText.tsx';

/** The name of the person who acted through an agent. Undefined when the agent acted by itself. */
export function personNameOf({ metadata }: Pick<AuditEvent, 'metadata'>): string | undefined {
  const { person } = metadata as { person?: { name?: unknown } | null };
  return typeof person?.name === 'string' ? person.name : undefined;
}

interface ActorNameProps {
  readonly event: AuditEvent;
  /** The agent that acted; undefined where the event names it already. */
  readonly agentId: string | undefined;
}

/** The actor of an event: a person, with the agent through which the person acted, or an agent. */
export function ActorName({ event, agentId }: ActorNameProps) {
  const person = personNameOf(event);
  if (person === undefined) return <AgentName agentId={agentId} />;
  return (
    <>
      <TenantText text={person} />
      {agentId && (
        <>
          {' as '}
          <AgentName agentId={agentId} />
        </>
      )}
    </>
  );
}
