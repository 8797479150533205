/** Reads a delegation token for the form. The server verifies it. */
export interface DelegationTokenContent {
  readonly scopes: readonly string[];
}

/** Undefined for text that is no delegation token. */
export function contentOf(token: string): DelegationTokenContent | undefined {
  const [header, payload] = token.trim().split('.');
  const claims = decode(payload);
  if (decode(header)?.typ !== 'delegation+jwt' || typeof claims?.scope !== 'string') return undefined;
  return { scopes: claims.scope.split(' ').filter((scope) => scope !== '') };
}

function decode(part: string | undefined): Record<string, unknown> | undefined {
  try {
    const bytes = Uint8Array.from(atob((part ?? '').replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
