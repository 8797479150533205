/** The approval policy of an organization in words, and its form. */
import type { ApprovalPolicy } from '../../../api/generated.ts';

/** As the server answers: with every field. */
export type Policy = { readonly [Name in keyof ApprovalPolicy]-?: NonNullable<ApprovalPolicy[Name]> };

export const minAccessSeconds = 60;
export const maxAccessSeconds = 86_400;
export const maxRequireTwo = 100;

export interface ApprovalPolicyValues extends Record<string, unknown> {
  maxAccessSeconds: number | string;
  selfApproval: boolean;
  /** Identifiers of APIs. */
  requireTwo: string[];
}

export const valuesOf = (policy: Policy): ApprovalPolicyValues => ({
  maxAccessSeconds: policy.maxAccessSeconds,
  selfApproval: policy.selfApproval,
  requireTwo: [...policy.requireTwo],
});

export const policyOf = (values: ApprovalPolicyValues): Policy => ({
  maxAccessSeconds: Number(values.maxAccessSeconds),
  selfApproval: values.selfApproval,
  requireTwo: values.requireTwo,
});

export function policyProblems(
  values: ApprovalPolicyValues,
): Partial<Record<keyof ApprovalPolicyValues, string>> {
  const seconds = Number(values.maxAccessSeconds);
  const fits = Number.isInteger(seconds) && seconds >= minAccessSeconds && seconds <= maxAccessSeconds;
  return fits ? {} : { maxAccessSeconds: 'From 60 to 86,400 seconds.' };
}
