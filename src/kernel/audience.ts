/**
 * The audience for a `resource` (RFC 8707 §2): an absolute URI without a fragment, unchanged. Every spelling of our own URL gives the
 * issuer, and so does every spelling of our MCP server, which is a part of it. Undefined for an invalid one, and for one with
 * credentials, which would end up in every token.
 */
export function audienceOf(resource: string, issuer: string): string | undefined {
  const url =
    /^https?:\/\/[\w.[\]:-]+(?:[/?][!-~]*)?$/i.test(resource) && URL.canParse(resource)
      ? new URL(resource)
      : undefined;
  if (!url || url.username || url.password || /[\\#]/.test(resource)) return undefined;
  const own = new URL(issuer).href;
  return url.href === own || url.href.replace(/\/$/, '') === mcpAddressOf(own) ? issuer : resource;
}

/** The address of our MCP server, as its clients write it. */
export const mcpAddressOf = (issuer: string): string => `${issuer.replace(/\/$/, '')}/mcp`;

/** Whether a valid audience names the client's own machine: no host can prove it, and none needs to. */
export const isLoopback = (audience: string): boolean =>
  /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(audience).hostname);

/**
 * Whether a form repeats `resource` and names another target than our own API: a token has one audience. The form was refused by its
 * schema, so its fields may be of any type.
 */
export function namesSeveralTargets(form: unknown, issuer: string): boolean {
  const { resource } = (form ?? {}) as { resource?: unknown };
  return (
    Array.isArray(resource) &&
    resource.some((one) => ![undefined, issuer].includes(audienceOf(String(one), issuer)))
  );
}

/**
 * The identifiers under which a resource may be registered, as given first. Scheme and host have no case, and a URI without a path equals
 * that with the path `/` (RFC 3986 §6.2.2, §6.2.3): programs that parse addresses add it.
 */
export function equivalentUris(resource: string): readonly string[] {
  const lower = resource.replace(/^[^/]*\/\/[^/?]*/, (origin) => origin.toLowerCase());
  const [, origin, slash] = /^([^/]*\/\/[^/?]+)(\/?)$/.exec(lower) ?? [];
  return origin === undefined ? [lower] : [lower, slash ? origin : `${origin}/`];
}
