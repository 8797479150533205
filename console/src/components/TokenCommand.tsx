import { CopyButton } from './CopyButton.tsx';
import classes from './TokenCommand.module.css';

interface TokenCommandProps {
  readonly agentId: string;
  /** Only where the secret is shown anyway. Without it, a line where a person puts it. */
  readonly secret?: string | undefined;
}

/** A command for a terminal that gets a token of an agent, to copy. */
export function TokenCommand({ agentId, secret }: TokenCommandProps) {
  const request = [
    `curl ${location.origin}/api/v1/token`,
    '-d grant_type=client_credentials',
    `-d client_id=${agentId}`,
    secret === undefined
      ? '--data-urlencode "client_secret=$CLIENT_SECRET"'
      : `--data-urlencode 'client_secret=${secret}'`,
  ].join(' \\\n  ');
  const command = secret === undefined ? `CLIENT_SECRET='cs_…'\n${request}` : request;
  return (
    <div className={classes.command}>
      <pre className={classes.code}>{command}</pre>
      <CopyButton text={command} label="Copy command" />
    </div>
  );
}
