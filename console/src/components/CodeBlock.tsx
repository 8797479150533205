import classes from './CodeBlock.module.css';
import { visibleText } from './TenantText.tsx';

interface CodeBlockProps {
  readonly text: string;
  /** For screen readers, such as "DID document". */
  readonly label: string;
  /** The largest height before it scrolls. */
  readonly maxHeight?: number;
}

/** Text of a program or a server. Long lines break. */
export function CodeBlock({ text, label, maxHeight = 420 }: CodeBlockProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section className={classes.code} style={{ maxHeight }} tabIndex={0} aria-label={label}>
      <pre>{visibleText(text)}</pre>
    </section>
  );
}
