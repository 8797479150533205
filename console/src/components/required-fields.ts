/** The fields of a form that must not stay empty, each with the sentence that asks for it. */
export type RequiredFields<Values> = Readonly<Partial<Record<keyof Values & string, string>>>;

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0);

/** The sentences of the fields that are empty. */
export const emptyFields = <Values extends Record<string, unknown>>(
  required: RequiredFields<Values>,
  values: Values,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries<string | undefined>(required).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && isEmpty(values[entry[0]]),
    ),
  );
