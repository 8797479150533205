/** The form of an invitation, and the request that it makes. */
import type { Connection, NewPerson } from '../../../api/generated.ts';
import type { RequiredFields } from '../../../components/required-fields.ts';

interface InvitationValues extends Record<string, unknown> {
  name: string;
  role: NewPerson['role'];
  /** Empty for a member. */
  agentId: string;
  /** By e-mail, where the organization has a connection. */
  connectionId: string;
  email: string;
  /** By the identity at the instance's own provider, where it has none. */
  issuer: string;
  subject: string;
}

export const newInvitation = (
  connections: readonly Pick<Connection, 'connectionId'>[],
  issuer: string,
): InvitationValues => ({
  name: '',
  role: connections.length > 0 ? 'member' : 'viewer',
  agentId: '',
  connectionId: connections[0]?.connectionId ?? '',
  email: '',
  issuer,
  subject: '',
});

const isByEmail = ({ connectionId }: InvitationValues): boolean => connectionId !== '';

export function invitationOf(values: InvitationValues): NewPerson {
  const { name, role, agentId, connectionId, email, issuer, subject } = values;
  return {
    ...(isByEmail(values)
      ? { email: email.trim(), connectionId }
      : { issuer: issuer.trim(), subject: subject.trim() }),
    name,
    role,
    ...(role !== 'member' && { agentId }),
  };
}

export const requiredOf = (values: InvitationValues): RequiredFields<InvitationValues> => ({
  name: 'Enter a name',
  ...(isByEmail(values)
    ? { email: 'Enter an e-mail address' }
    : { issuer: 'Enter the issuer of the provider', subject: 'Enter the subject' }),
  ...(values.role !== 'member' && { agentId: 'Choose an agent' }),
});
