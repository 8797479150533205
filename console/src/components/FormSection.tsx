import type { ReactNode } from 'react';
import classes from './FormSection.module.css';

interface FormSectionProps {
  readonly title: ReactNode;
  /** What is chosen inside, while it is closed: "none", "3 of 12". */
  readonly summary?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a form that most people leave as it is: closed until it is opened, or until a field inside has a problem. */
export function FormSection({ title, summary, children }: FormSectionProps) {
  return (
    <details className={classes.section}>
      <summary>
        <span>{title}</span>
        {summary !== undefined && <span className={classes.summary}>{summary}</span>}
      </summary>
      <div className={classes.content}>{children}</div>
    </details>
  );
}
