/** Typed search parameters of a page. Values that are malformed or equal to the default do not appear. */

interface SearchField<T> {
  /** Undefined or the default for text that is no value of this field. */
  read(text: string | undefined): T;
  /** Undefined: not written to the URL. */
  write(value: T): string | undefined;
}

export type SearchFields = Readonly<Record<string, SearchField<unknown>>>;

export type SearchOf<Fields extends SearchFields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends SearchField<infer T> ? T : never;
};

const maxTextLength = 2_000;

/** Any text. */
export const text = (): SearchField<string | undefined> => ({
  read: (value) => value?.slice(0, maxTextLength) || undefined,
  write: (value) => value || undefined,
});

/** One of a list of words. */
export const oneOf = <const Word extends string>(words: readonly Word[]): SearchField<Word | undefined> => ({
  read: (value) => words.find((word) => word === value),
  write: (value) => value,
});

/** One of a list of words, with a default: for tabs and views. */
export const oneOfOr = <const Word extends string>(
  words: readonly Word[],
  byDefault: NoInfer<Word>,
): SearchField<Word> => ({
  read: (value) => words.find((word) => word === value) ?? byDefault,
  write: (value) => (value === byDefault ? undefined : value),
});

/** A whole number of at least 1, such as a page. */
export const wholeNumber = (byDefault: number): SearchField<number> => ({
  read: (value) => (value !== undefined && /^[1-9]\d{0,6}$/.test(value) ? Number(value) : byDefault),
  write: (value) => (value === byDefault ? undefined : String(value)),
});

/** True or absent: for an open dialog, so that a link and the palette can open it. */
export const flag = (): SearchField<boolean> => ({
  read: (value) => value === '1',
  write: (value) => (value ? '1' : undefined),
});

export function readSearch<Fields extends SearchFields>(
  fields: Fields,
  raw: Readonly<Record<string, unknown>>,
): SearchOf<Fields> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const value = raw[name];
      return [name, field.read(typeof value === 'string' ? value : undefined)];
    }),
  ) as SearchOf<Fields>;
}

export function writeSearch(
  fields: SearchFields,
  values: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const written: Record<string, string> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = field.write(values[name]);
    if (value !== undefined) written[name] = value;
  }
  return written;
}

/** The router's own form: every value is text. */
export const parseSearch = (search: string): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(search));

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value));
  const written = params.toString();
  return written ? `?${written}` : '';
}
