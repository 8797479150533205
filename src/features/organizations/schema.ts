import type { PlanTier } from '../../contract/limits.ts';

export interface Organization {
  readonly organizationId: string;
  readonly name: string;
  readonly slug: string;
  readonly planTier: PlanTier;
  readonly maxAgents: number | null;
  readonly maxTokensPerMonth: number | null;
  readonly status: 'active' | 'suspended' | 'deleted';
  readonly createdAt: string;
  readonly updatedAt: string;
}
