import { PageLink } from '../app/navigation.tsx';
import { isAdmin } from '../app/page.ts';
import { useSession } from '../app/session-context.tsx';
import { AgentName } from './AgentName.tsx';
import { visibleText } from './TenantText.tsx';

interface PartyNameProps {
  readonly type: 'agent' | 'person';
  readonly id: string;
  /** False: text instead of a link. */
  readonly link?: boolean;
}

const idStart = 8;

/** The delegator or subject of a chain: an agent, or a person, whose name only admins see, on the page of people. */
export function PartyName({ type, id, link = true }: PartyNameProps) {
  const session = useSession();
  if (type === 'agent') return <AgentName agentId={id} link={link} />;
  if (id === session.person?.personId) return <>you</>;
  const name = (
    <>
      person <code title={visibleText(id)}>{visibleText(id.slice(0, idStart))}</code>
    </>
  );
  return link && isAdmin(session) ? (
    <PageLink to="/organization" search={{ tab: 'people', selected: id }}>
      {name}
    </PageLink>
  ) : (
    name
  );
}
