/**
 * Whom a token is for (RFC 8707 §2): an absolute URI without a fragment, kept as it was written; our own address in any
 * spelling is us. Credentials in one would end up in every token. Undefined for what cannot be one.
 */
export function audienceOf(resource: string, issuer: string): string | undefined {
  const url =
    /^https?:\/\/[\w.[\]:-]+(?:[/?][!-~]*)?$/i.test(resource) && URL.canParse(resource)
      ? new URL(resource)
      : undefined;
  if (!url || url.username || url.password || /[\\#]/.test(resource)) return undefined;
  return url.href === new URL(issuer).href ? issuer : resource;
}
