/**
 * What the server's programs see of our environment: next to nothing. It holds secrets which another account
 * has no business reading, and PG* and LC_* variables which would change the server's behaviour and language.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot } = process.env;
  return { LC_ALL: 'C', TZ: 'UTC', ...(PATH && { PATH }), ...(SystemRoot && { SystemRoot }) };
}
