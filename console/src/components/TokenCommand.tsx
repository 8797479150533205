import { CopyButton } from './CopyButton.tsx';
import classes from './TokenCommand.module.css';
import { tokenCurl } from './token-curl.ts';

export interface TokenCommandProps {
  readonly agentId: string;
  /** Only where the secret is shown anyway. */
  readonly secret?: string | undefined;
}

/** The command that gets a token, to copy. */
export function TokenCommand({ agentId, secret }: TokenCommandProps) {
  const command = tokenCurl(agentId, location.origin, secret);
  return (
    <div className={classes.command}>
      <pre className={classes.code}>{command}</pre>
      <CopyButton text={command} label="Copy command" />
    </div>
  );
}
