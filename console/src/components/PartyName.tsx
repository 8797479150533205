import { useApi } from '../api/queries.ts';
import { PageLink } from '../app/navigation.tsx';
import { isAdmin } from '../app/page.ts';
import { useSession } from '../app/session-context.tsx';
import { AgentName } from './AgentName.tsx';
import { TenantText, visibleText } from './TenantText.tsx';

interface PartyNameProps {
  readonly type: 'agent' | 'person';
  readonly id: string;
  /** False: text instead of a link. */
  readonly link?: boolean;
}

const idStart = 8;
const maxPeople = 100;

/** The delegator or subject of a chain: an agent, or a person, whose name only admins see. All names come with one request. */
export function PartyName({ type, id, link = true }: PartyNameProps) {
  const session = useSession();
  const people = useApi(
    'listPeople',
    { params: { orgId: session.organizationId }, query: { limit: maxPeople } },
    { enabled: type === 'person' && isAdmin(session) },
  );
  if (type === 'agent') return <AgentName agentId={id} link={link} />;
  if (id === session.person?.personId) return <>you</>;
  const person = people.data?.data.find(({ personId }) => personId === id);
  const name = person ? (
    <TenantText text={person.name} />
  ) : (
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
