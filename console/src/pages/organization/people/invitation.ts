/** The form of an invitation, and the request that it makes. */
import type { Connection, NewPerson } from '../../../api/generated.ts';

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

export function invitationProblems(
  values: InvitationValues,
): Partial<Record<keyof InvitationValues, string>> {
  const isEmpty = (field: keyof InvitationValues) => String(values[field]).trim() === '';
  return {
    ...(isEmpty('name') && { name: 'Enter a name' }),
    ...(isByEmail(values) && isEmpty('email') && { email: 'Enter an e-mail address' }),
    ...(!isByEmail(values) && isEmpty('issuer') && { issuer: 'Enter the issuer of the provider' }),
    ...(!isByEmail(values) && isEmpty('subject') && { subject: 'Enter the subject' }),
    ...(values.role !== 'member' && isEmpty('agentId') && { agentId: 'Choose an agent' }),
  };
}
