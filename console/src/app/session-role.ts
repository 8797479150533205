import type { Session } from '../api/session.ts';
import { roleWord } from '../components/role-words.ts';
import { operatorScope } from './page.ts';

interface SessionRole {
  readonly name: string;
  /** Whether the name of the organization follows. */
  readonly ofOrganization: boolean;
  readonly meaning: string;
}

/** The role of the session in words. The API has no role for operators, and none for an agent that only has scopes. */
export function sessionRole({
  role,
  scopes,
  person,
}: Pick<Session, 'role' | 'scopes' | 'person'>): SessionRole {
  if (scopes.includes(operatorScope))
    return {
      name: 'Operator',
      ofOrganization: false,
      meaning: 'Manages this instance and all its organizations.',
    };
  if (role === 'admin')
    return {
      name: roleWord(role),
      ofOrganization: true,
      meaning: 'Manages its agents, people, billing and policies.',
    };
  if (role === 'viewer')
    return {
      name: roleWord(role),
      ofOrganization: true,
      meaning: 'Sees what its agent may read, and changes nothing.',
    };
  if (person)
    return {
      name: roleWord('member'),
      ofOrganization: true,
      meaning: 'Sees the agents that act for you, and decides their requests.',
    };
  return {
    name: role === 'member' ? roleWord(role) : 'Agent',
    ofOrganization: true,
    meaning: 'Does what its scopes allow.',
  };
}
