/** When the day of this time began in the reader's time zone, in ISO 8601. */
export const startOfDay = (now: Date): string =>
  new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString();
