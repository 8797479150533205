/** The actions that policies decide about; equal to those of policies/schema.cedarschema. */
export const policyActions = [
  'organizations:create',
  'organizations:list',
  'organizations:read',
  'organizations:rename',
  'organizations:configure',
  'organizations:delete',
  'organizations:addMember',
  'organizations:managePeople',
  'federation:read',
  'federation:manage',
  'billing:manage',
  'dids:resolve',
  'webhooks:read',
  'webhooks:write',
  'resources:grant',
  'agents:grant',
  'resources:approve',
  'shares:decide',
] as const;

export type PolicyAction = (typeof policyActions)[number];

/** Refused to delegated callers, even if the policies permit them. */
export const neverDelegated: ReadonlySet<PolicyAction> = new Set([
  'billing:manage',
  'organizations:managePeople',
]);
