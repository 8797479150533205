import type { ReactNode } from 'react';
import { type Scope, scopeDescriptions } from '../../../api/generated.ts';
import { CheckList } from '../../../components/CheckList.tsx';
import { scopeNames } from './agent-form.ts';

interface ScopeChecksProps {
  readonly value: string[];
  readonly onChange: (scopes: string[]) => void;
  readonly grantable: readonly Scope[];
  readonly error?: ReactNode;
}

/** Checkboxes for the scopes of the Countersign API that the session can give. Others appear only if the agent holds them. */
export function ScopeChecks({ value, onChange, grantable, error }: ScopeChecksProps) {
  const shown = scopeNames.filter((scope) => grantable.includes(scope) || value.includes(scope));
  return (
    <CheckList
      label="Scopes of the Countersign API"
      description="Choose only what the agent needs. Scopes of your own APIs are granted on its tab Access."
      value={value}
      onChange={onChange}
      error={error}
      choices={shown.map((scope) => ({
        value: scope,
        label: scope,
        description: scopeDescriptions[scope],
        disabled: !grantable.includes(scope),
      }))}
      none="Your session holds no scope that it could give."
    />
  );
}
