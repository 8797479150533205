import { ErrorAlert } from './ErrorAlert.tsx';
import classes from './ErrorNotice.module.css';
import { clearError, useShownError } from './notices.tsx';

/** The failure of an action without a dialog, above the page that it concerns. */
export function ErrorNotice() {
  const error = useShownError();
  if (error === undefined) return null;
  return (
    <div className={classes.notice}>
      <ErrorAlert error={error} title="That did not work" onClose={clearError} />
    </div>
  );
}
