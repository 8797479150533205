/** A command for a terminal that gets a token of an agent. Without the secret, a line where a person puts it. */
export const tokenCurl = (agentId: string, origin: string, secret?: string): string =>
  [
    ...(secret === undefined ? ["CLIENT_SECRET='cs_…'"] : []),
    [
      `curl ${origin}/api/v1/token`,
      '-d grant_type=client_credentials',
      `-d client_id=${agentId}`,
      secret === undefined
        ? '--data-urlencode "client_secret=$CLIENT_SECRET"'
        : `--data-urlencode 'client_secret=${secret}'`,
    ].join(' \\\n  '),
  ].join('\n');
