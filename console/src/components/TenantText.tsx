import { useState } from 'react';
import classes from './TenantText.module.css';
import { beginningOf, withoutGaps } from './text-lines.ts';
import { visibleText } from './visible-text.ts';

export { visibleText };

const maxTitle = 1_000;

interface TenantTextProps {
  readonly text: string | null | undefined;
  /** Several lines with a button for the rest, instead of one line that ends in "…". */
  readonly multiline?: boolean | undefined;
  readonly className?: string | undefined;
  /** Shown when the text is empty. */
  readonly fallback?: string | undefined;
}

/** Text from tenants: always text, never markup, isolated from the direction of its surroundings. */
export function TenantText({ text, multiline = false, className = '', fallback = '–' }: TenantTextProps) {
  const [all, setAll] = useState(false);
  const safe = visibleText(text ?? '');
  if (safe === '') return <span className={`${classes.empty} ${className}`}>{fallback}</span>;
  if (!multiline)
    return (
      <bdi className={`${classes.line} ${className}`} title={safe.slice(0, maxTitle)}>
        {safe.slice(0, maxTitle)}
      </bdi>
    );
  const whole = withoutGaps(safe);
  const beginning = beginningOf(whole);
  return (
    <span className={`${classes.block} ${className}`}>
      <bdi>{all ? whole : beginning}</bdi>
      {beginning !== whole && (
        <button type="button" className={classes.more} aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Show less' : `Show all ${whole.length.toLocaleString('en')} characters`}
        </button>
      )}
    </span>
  );
}
