import { CodeBlock } from './CodeBlock.tsx';
import { CopyButton } from './CopyButton.tsx';
import classes from './JsonView.module.css';

interface JsonViewProps {
  readonly value: unknown;
  /** For screen readers, such as "DID document". */
  readonly label: string;
  readonly maxHeight?: number;
}

/** JSON as indented text, with a button to copy it. */
export function JsonView({ value, ...rest }: JsonViewProps) {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <div className={classes.box}>
      <CopyButton className={classes.copy ?? ''} size="compact-xs" text={text} label="Copy" />
      <CodeBlock text={text} {...rest} />
    </div>
  );
}
