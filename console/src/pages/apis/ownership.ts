/** Whether the session's organization owns an API. The operator may change those of others. */

import type { Resource } from '../../api/generated.ts';
import type { Session } from '../../api/session.ts';
import { operatorScope } from '../../app/page.ts';

export type Ownership = 'own' | 'shared' | 'other';

export function ownershipOf(
  { organizationId }: Pick<Resource, 'organizationId'>,
  session: Pick<Session, 'organizationId' | 'scopes'>,
): Ownership {
  if (organizationId === session.organizationId) return 'own';
  return session.scopes.includes(operatorScope) ? 'other' : 'shared';
}

export const ownershipWords: Readonly<Record<Ownership, string>> = {
  own: 'your organization',
  shared: 'shared with you',
  other: 'another organization',
};
