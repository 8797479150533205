import type { TrustCondition } from '../api/generated.ts';
import { operatorLabels } from './conditions.ts';
import { visibleText } from './TenantText.tsx';

/** Conditions as sentences. */
export function ConditionList({ conditions }: { readonly conditions: readonly TrustCondition[] }) {
  if (conditions.length === 0) return <>none</>;
  return (
    <ul>
      {conditions.map((condition, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no id and do not move
        <li key={index}>{conditionText(condition)}</li>
      ))}
    </ul>
  );
}

const conditionText = ({ claim, operator, values = [] }: TrustCondition): string =>
  visibleText([claim, operatorLabels[operator], values.join(', ')].filter(Boolean).join(' '));
