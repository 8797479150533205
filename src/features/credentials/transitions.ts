/** State transitions of a credential. Expiry is not a state: an expired credential stays `active`, but does not authenticate. */
import type { EventType } from '../../contract/events.ts';
import { fail } from '../../kernel/fail.ts';

type CredentialStatus = 'active' | 'revoked';
type CredentialStep = 'rotate' | 'revoke';

/** The event of each allowed step; others are refused. */
const credentialTransitions: Readonly<Record<CredentialStatus, Partial<Record<CredentialStep, EventType>>>> =
  {
    active: { rotate: 'credential.rotated', revoke: 'credential.revoked' },
    revoked: {},
  };

export function eventOf(from: CredentialStatus, step: CredentialStep): EventType {
  return credentialTransitions[from][step] ?? fail('CREDENTIAL_ALREADY_REVOKED');
}
