/** Labels as text: `team:talent`, as the API's filter has them. */

export type Labels = Readonly<Record<string, string>>;

export const labelTexts = (labels: Labels): string[] => Object.entries(labels).map(labelText).toSorted();

/** A label without a value is its key alone. */
export const labelText = ([key, value]: readonly [key: string, value: string]): string =>
  value === '' ? key : `${key}:${value}`;

/** Keys are in lower case. The first colon ends the key: a value may have colons. */
export function readLabel(text: string): [key: string, value: string] {
  const [key = '', ...value] = text.split(':');
  return [key.trim().toLowerCase(), value.join(':').trim()];
}

/** Of two labels with one key, the last counts. */
export const labelsOf = (texts: readonly string[]): Record<string, string> =>
  Object.fromEntries(texts.map(readLabel));

/** For the filter `label`, as someone types it. */
export const labelFilter = (text: string): string => labelText(readLabel(text));

const keyForm = /^[a-z0-9][a-z0-9._/-]{0,62}$/;
const maxLabels = 20;
const maxValueLength = 63;

/** A problem before the request. */
export function labelProblem(texts: readonly string[]): string | undefined {
  const labels = texts.map(readLabel);
  const wrong = labels.find(([key]) => !keyForm.test(key));
  if (wrong)
    return `"${wrong[0]}" is no key: write key:value, with letters, digits, ".", "_", "/" and "-" in the key`;
  if (labels.some(([, value]) => value.length > maxValueLength))
    return `A value has at most ${maxValueLength} characters`;
  if (new Set(labels.map(([key]) => key)).size > maxLabels) return `At most ${maxLabels} labels`;
  return undefined;
}
