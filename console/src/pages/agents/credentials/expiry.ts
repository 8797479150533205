/** Choices for the end of a credential. */

export const expiryChoices = [
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'never', label: 'Never' },
  { value: 'custom', label: 'At a time of your choice' },
];
export const keepChoice = { value: 'keep', label: 'As it is now' };

const day = 86_400_000;

/** The API's value: null for never, undefined to leave it as it is. `custom` is a field's local time. */
export function expiresAtOf(choice: string, custom: string, now: number): string | null | undefined {
  if (choice === 'keep') return undefined;
  if (choice === 'never') return null;
  if (choice !== 'custom') return new Date(now + Number(choice) * day).toISOString();
  const time = Date.parse(custom);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

export const problemOfExpiry = (choice: string, custom: string, now: number): string | undefined => {
  if (choice !== 'custom') return undefined;
  const time = Date.parse(custom);
  if (Number.isNaN(time)) return 'Choose a day and a time';
  return time <= now ? 'Choose a time in the future' : undefined;
};
