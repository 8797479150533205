import { CopyButton } from './CopyButton.tsx';
import classes from './JsonView.module.css';
import { visibleText } from './TenantText.tsx';

export interface JsonViewProps {
  readonly value: unknown;
  /** For screen readers, such as "DID document". */
  readonly label: string;
  /** The largest height before it scrolls. */
  readonly maxHeight?: number;
}

/** JSON as indented text, with a button to copy it. */
export function JsonView({ value, label, maxHeight = 420 }: JsonViewProps) {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <div className={classes.box}>
      <CopyButton className={classes.copy ?? ''} size="compact-xs" text={text} label="Copy" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section className={classes.text} style={{ maxHeight }} tabIndex={0} aria-label={label}>
        <pre>{visibleText(text)}</pre>
      </section>
    </div>
  );
}
