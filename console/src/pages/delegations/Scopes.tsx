import { visibleText } from '../../components/TenantText.tsx';
import classes from './Scopes.module.css';

/** Scopes as words, the first few of them. */
export function Scopes({
  scopes,
  shown = 3,
}: {
  readonly scopes: readonly string[];
  readonly shown?: number;
}) {
  const rest = scopes.length - shown;
  if (scopes.length === 0) return <>none</>;
  return (
    <span className={classes.scopes} title={visibleText(scopes.join(' ').slice(0, 1_000))}>
      {scopes.slice(0, shown).map((scope) => (
        <code key={scope} className={classes.scope}>
          {visibleText(scope)}
        </code>
      ))}
      {rest > 0 && <span>+{rest} more</span>}
    </span>
  );
}
