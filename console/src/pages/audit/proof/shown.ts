/** Whether an event on display says the same as its canonical text. */

type Json = Readonly<Record<string, unknown>>;

/** The organization is in the text only. */
export function differsFromText(event: object, text: Json): boolean {
  const { organizationId, ...proven } = text;
  return !isSame(event, proven);
}

function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return Object.is(one, other);
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame((one as Json)[name], (other as Json)[name]))
  );
}
