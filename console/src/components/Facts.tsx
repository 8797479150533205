import type { ReactNode } from 'react';
import classes from './Facts.module.css';

interface FactsProps {
  /** By name. A value that is undefined, null or false leaves its name out. */
  readonly facts: Readonly<Record<string, ReactNode>>;
  /** Another layout than name and value side by side. */
  readonly className?: string | undefined;
}

/** Names with their values, as a definition list. */
export function Facts({ facts, className = classes.facts }: FactsProps) {
  const shown = Object.entries(facts).filter(
    ([, value]) => value !== undefined && value !== null && value !== false,
  );
  return (
    <dl className={className}>
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
