import type { TrustCheck } from '../api/generated.ts';
import classes from './CheckTable.module.css';
import { Icon } from './Icon.tsx';
import { TenantText, visibleText } from './TenantText.tsx';

/** Requirements of a token, and whether it meets each. */
export function CheckTable({ checks }: { readonly checks: readonly TrustCheck[] }) {
  return (
    <div className={classes.box}>
      <table className={classes.checks} aria-label="Checks">
        <thead>
          <tr>
            <th scope="col">Check</th>
            <th scope="col">Expected</th>
            <th scope="col">Actual</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {checks.map((check, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two conditions can have the same name
            <CheckRow key={index} check={check} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CheckRow({ check: { name, expected, actual, ok } }: { readonly check: TrustCheck }) {
  return (
    <tr data-ok={ok}>
      <th scope="row">{visibleText(name)}</th>
      <td data-label="Expected">
        <TenantText text={expected} multiline />
      </td>
      <td data-label="Actual">
        <TenantText text={actual} multiline fallback="nothing" />
      </td>
      <td>
        <span className={ok ? classes.ok : classes.failed}>
          <Icon name={ok ? 'check' : 'close'} size={14} />
          {ok ? 'ok' : 'failed'}
        </span>
      </td>
    </tr>
  );
}
