/** Conditions on the claims of a token of another issuer, as forms hold them. */
import type { TrustCondition } from '../api/generated.ts';

export const operators = ['equals', 'in', 'glob', 'exists'] as const;
export type Operator = (typeof operators)[number];

export const operatorLabels: Readonly<Record<Operator, string>> = {
  equals: 'equals',
  in: 'is one of',
  glob: 'matches the pattern',
  exists: 'is present',
};

export interface ConditionValues {
  claim: string;
  operator: Operator;
  values: string[];
}

export const conditionValuesOf = ({ claim, operator, values = [] }: TrustCondition): ConditionValues => ({
  claim,
  operator,
  values: [...values],
});

export const conditionOf = ({ claim, operator, values }: ConditionValues): TrustCondition => ({
  claim: claim.trim(),
  operator,
  ...(operator !== 'exists' && { values }),
});
