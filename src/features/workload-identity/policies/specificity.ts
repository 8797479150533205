/**
 * Specificity of a trust policy: it must identify the caller by its subject or by a condition. A policy that is not specific
 * enough would admit every customer of the provider.
 */
import type { Condition } from '../../../contract/conditions.ts';
import { canonicalName, topLevelClaim } from '../../../kernel/conditions/claims.ts';
import { hasFixedFirstSegment, hasFixedPrefix, isGlob } from '../../../kernel/conditions/glob.ts';
import type { Provider } from '../schema.ts';
import { nonIdentifyingClaims, type Preset, presets } from './presets.ts';

/** Why the policy does not identify the caller; undefined when it does. */
export function specificityProblem(
  provider: Provider,
  subject: string | null,
  conditions: readonly Condition[],
): string | undefined {
  const preset = presets[provider];
  if (subject !== null && preset.isIdentifying(subject)) return undefined;
  const identifying = [...preset.identifying, ...conditionallyIdentifying(preset, conditions)];
  if (conditions.some((condition) => identifiesCaller(provider, { ...preset, identifying }, condition)))
    return undefined;
  const { claims: others = [], claim, value } = preset.identifyingWith ?? {};
  const more = others.length > 0 ? ` (${others.join(' or ')} only with ${claim} equals ${value})` : '';
  const claims =
    preset.identifying.length > 0 ? `, or a condition on ${preset.identifying.join(', ')}${more}` : '';
  const custom = provider === 'custom' ? ', or a condition on a claim that says who the caller is' : claims;
  return `does not say who the caller is: with ${provider} that takes ${preset.subjectForm}${custom}`;
}

/** The claims of `identifyingWith`, when its condition is in the policy. */
const conditionallyIdentifying = (
  { identifyingWith }: Preset,
  conditions: readonly Condition[],
): readonly string[] => {
  if (!identifyingWith) return [];
  const { claims, claim, value } = identifyingWith;
  const isRequired = conditions.some(
    ({ claim: named, operator, values = [] }) =>
      canonicalName(named) === claim && operator === 'equals' && values.length === 1 && values[0] === value,
  );
  return isRequired ? claims : [];
};

function identifiesCaller(
  provider: Provider,
  preset: Preset,
  { claim, operator, values = [] }: Condition,
): boolean {
  if (operator === 'exists' || values.length === 0) return false;
  const name = canonicalName(claim);
  if (name === 'sub') return values.every((value) => preset.isIdentifying(value));
  const custom = provider === 'custom';
  const isSpecific = custom ? hasFixedPrefix : hasFixedFirstSegment;
  const isIdentifyingClaim = custom
    ? !nonIdentifyingClaims.has(topLevelClaim(claim))
    : [claim, name].some((spelling) => preset.identifying.includes(spelling));
  return (
    isIdentifyingClaim && values.every((value) => operator !== 'glob' || !isGlob(value) || isSpecific(value))
  );
}
