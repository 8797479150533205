/** Pages of browsers ask for HTML by name; other clients accept anything or JSON. */
export const asksForHtml = (accept: unknown): boolean => String(accept ?? '').includes('text/html');
