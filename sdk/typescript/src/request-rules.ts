/** The path, query and body of a request. */

type Values = Readonly<Record<string, unknown>>;

/** Puts the values into a path such as `/agents/{agentId}`. */
export const fillPath = (template: string, segmentOf: (name: string) => string): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(segmentOf(name)));

/** Adds the values that there are; a list becomes a parameter for each of its items. */
export function withQuery(path: string, query: Values): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const pairs = given.flatMap(([name, value]) => [value].flat().map((item) => [name, String(item)]));
  const search = new URLSearchParams(pairs).toString();
  return search ? `${path}?${search}` : path;
}

/** Sends a form as one, and everything else as JSON. */
export const initOf = (
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): RequestInit => {
  if (body === undefined || body instanceof URLSearchParams)
    return { method, headers, ...(body && { body }) };
  return {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
};

export const postForm = (fields: Record<string, string>, headers?: Record<string, string>): RequestInit =>
  initOf('POST', { accept: 'application/json', ...headers }, new URLSearchParams(fields));
