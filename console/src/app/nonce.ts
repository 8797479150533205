/** The nonce of the CSP header, for the style elements that libraries create. */
import { setNonce } from 'get-nonce';

const placeholder = '__CSP_NONCE__';

export function readNonce(): string {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
  return nonce === placeholder ? '' : nonce;
}

/** react-remove-scroll asks get-nonce. */
export function applyNonce(): void {
  const nonce = readNonce();
  if (nonce) setNonce(nonce);
}
