/**
 * The environment of PostgreSQL's programs. Ours contains secrets that the other account must not read, and PG* and LC_* variables
 * that would change the server's behaviour and language.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot } = process.env;
  return { LC_ALL: 'C', TZ: 'UTC', ...(PATH && { PATH }), ...(SystemRoot && { SystemRoot }) };
}
