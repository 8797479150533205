/** `2026-11-17 03:12:45 UTC`, from ISO 8601. A witness can name a time that no Date can hold. */
export const exactTime = (time: string): string => {
  const at = new Date(time);
  const [day = '', clock = ''] = (Number.isNaN(at.getTime()) ? time : at.toISOString()).split('T');
  return `${day} ${clock.slice(0, 8)} UTC`;
};
