/** A command for a terminal that gets a token with a client secret in $CLIENT_SECRET. */
export const tokenCurl = (agentId: string, origin: string): string =>
  [
    `curl ${origin}/api/v1/token`,
    '-d grant_type=client_credentials',
    `-d client_id=${agentId}`,
    '--data-urlencode "client_secret=$CLIENT_SECRET"',
  ].join(' \\\n  ');
