import type { Origin } from '../../../kernel/caller.ts';
import type { Queryable, Tx } from '../../../kernel/data/db.ts';

/** A person's invitation to an organization. */
export interface Invitation {
  readonly personId: string;
  readonly name: string;
  readonly role: 'admin' | 'viewer';
  readonly agentId: string;
  readonly organizationId: string;
  readonly organizationName: string;
  /** Unlike the name, no other organization has it. */
  readonly organizationSlug: string;
  /** The person has never signed in by this invitation. */
  readonly firstVisit: boolean;
  /** The agent and the organization are active. */
  readonly usable: boolean;
}

export type SignedInPerson = Pick<Invitation, 'personId' | 'name' | 'role' | 'agentId' | 'organizationId'>;

/** Invited people; the feature `people` owns them. */
export interface InvitedPeople {
  findInvitations(db: Queryable, issuer: string, subject: string): Promise<Invitation[]>;
  /** The person as of now, locked until the transaction ends; undefined when the person was removed. */
  recordSignIn(tx: Tx, personId: string): Promise<SignedInPerson | undefined>;
  /** Deletes an invitation that the person has never used, and records it. False when there is none any more. */
  decline(origin: Origin, invitation: Pick<Invitation, 'organizationId' | 'personId'>): Promise<boolean>;
}
