import type { Queryable, Tx } from '../../../kernel/data/db.ts';

/** A person's invitation to an organization. */
export interface Invitation {
  readonly personId: string;
  readonly name: string;
  readonly role: 'admin' | 'viewer';
  readonly agentId: string;
  readonly organizationId: string;
  readonly organizationName: string;
  /** The agent and the organization are active. */
  readonly usable: boolean;
}

export type SignedInPerson = Omit<Invitation, 'organizationName' | 'usable'>;

/** Invited people; the feature `people` owns them. */
export interface InvitedPeople {
  findInvitations(db: Queryable, issuer: string, subject: string): Promise<Invitation[]>;
  /** The person as of now, locked until the transaction ends; undefined when the person was removed. */
  recordSignIn(tx: Tx, personId: string): Promise<SignedInPerson | undefined>;
}
