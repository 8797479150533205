/** PgBouncer refuses settings at the start of a connection. Its message is the only sign. */
export const isRefusedByPooler = (message: string): boolean => /unsupported startup parameter/.test(message);
