import { StatusBadge } from '../../components/StatusBadge.tsx';

/** Verified: the agent is active, its DID document is well formed, and its badge verifies with the key of the instance. */
export const VerifiedBadge = ({ verified }: { readonly verified: boolean }) => (
  <StatusBadge status={verified ? 'verified' : 'draft'} label={verified ? 'verified' : 'not verified'} />
);
