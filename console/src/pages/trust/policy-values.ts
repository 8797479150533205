/** The form of a trust policy, and the requests that it makes. */
import type { NewTrustPolicy, TrustPolicy, TrustPolicyChange } from '../../api/generated.ts';
import { type ConditionValues, conditionOf, conditionValuesOf } from '../../components/conditions.ts';
import type { RequiredFields } from '../../components/required-fields.ts';
import { type Provider, presets } from './presets.ts';

export interface PolicyValues extends Record<string, unknown> {
  provider: Provider;
  agentId: string;
  name: string;
  issuer: string;
  jwksUri: string;
  audiences: string[];
  subject: string;
  conditions: ConditionValues[];
  scopes: string[];
  /** Scopes by the identifier of an API. */
  resources: Record<string, string[]>;
  actsAsAdmin: boolean;
  maxTokenAgeSeconds: number | string;
  singleUse: boolean;
}

export const newPolicyValues = (audience: string): PolicyValues => ({
  provider: 'github',
  agentId: '',
  name: '',
  issuer: presets.github.issuer ?? '',
  jwksUri: '',
  audiences: [audience],
  subject: '',
  conditions: [],
  scopes: [],
  resources: {},
  actsAsAdmin: false,
  maxTokenAgeSeconds: 600,
  singleUse: true,
});

export const valuesOf = (policy: TrustPolicy): PolicyValues => ({
  provider: policy.provider,
  agentId: policy.agentId,
  name: policy.name,
  issuer: policy.issuer,
  jwksUri: policy.jwksUri ?? '',
  audiences: [...policy.audiences],
  subject: policy.subject ?? '',
  conditions: policy.conditions.map(conditionValuesOf),
  scopes: [...policy.scopes],
  resources: Object.fromEntries(policy.resources.map(({ identifier, scopes }) => [identifier, [...scopes]])),
  actsAsAdmin: policy.actsAsAdmin,
  maxTokenAgeSeconds: policy.maxTokenAgeSeconds,
  singleUse: policy.singleUse,
});

/** All fields that can be changed. */
export const changeOf = (values: PolicyValues) =>
  ({
    name: values.name.trim(),
    ...(values.issuer.trim() !== '' && { issuer: values.issuer.trim() }),
    jwksUri: values.jwksUri.trim() || null,
    audiences: values.audiences,
    subject: values.subject.trim() || null,
    conditions: values.conditions.map(conditionOf),
    scopes: values.scopes,
    resources: Object.entries(values.resources)
      .filter(([, scopes]) => scopes.length > 0)
      .map(([identifier, scopes]) => ({ identifier, scopes })),
    actsAsAdmin: values.actsAsAdmin,
    maxTokenAgeSeconds: Number(values.maxTokenAgeSeconds),
    singleUse: values.singleUse,
  }) as TrustPolicyChange;

export const newPolicyOf = (values: PolicyValues) =>
  ({ agentId: values.agentId, provider: values.provider, ...changeOf(values) }) as NewTrustPolicy;

export const required: RequiredFields<PolicyValues> = {
  name: 'Give it a name.',
  agentId: 'Choose the agent that the workload becomes.',
  issuer: 'This provider has no issuer of its own: name it.',
  audiences: 'Name at least one audience.',
  maxTokenAgeSeconds: 'Between 1 and 86,400 seconds.',
};

export function validatePolicy(values: PolicyValues): Partial<Record<keyof PolicyValues, string>> {
  const age = Number(values.maxTokenAgeSeconds);
  return {
    ...(values.subject.trim() === '' &&
      values.conditions.length === 0 && {
        subject: 'Name a subject, or add a condition that identifies the workload.',
      }),
    ...(!(age >= 1 && age <= 86_400) && { maxTokenAgeSeconds: 'Between 1 and 86,400 seconds.' }),
  };
}
