import { Icon } from '../../components/Icon.tsx';
import classes from './OverviewPage.module.css';

/** What was looked at and needs no attention. */
export function InOrder({ facts }: { readonly facts: readonly (string | false | null)[] }) {
  const shown = facts.filter((fact) => typeof fact === 'string');
  if (shown.length === 0) return null;
  return (
    <ul className={classes.inOrder} aria-label="Nothing to do">
      {shown.map((fact) => (
        <li key={fact}>
          <Icon name="check" size={14} /> {fact}
        </li>
      ))}
    </ul>
  );
}
