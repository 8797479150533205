/** HTML pages without scripts. Every value is escaped, and the content security policy allows only their own style. */
import { createHash } from 'node:crypto';

const style = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem; color: #1c2430; background: #fff; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; }
dt { color: #566072; }
dd { margin: 0; overflow-wrap: anywhere; }
button { font: inherit; padding: .5rem 1.25rem; border: 0; border-radius: .375rem; color: #fff; background: #1f4fa3; cursor: pointer; }
button:focus-visible { outline: 3px solid #f0a500; outline-offset: 2px; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

export const pagePolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => entities[character] ?? character);

/** The body is HTML: escape every value in it. */
export const htmlPage = (title: string, body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`;

export const facts = (pairs: Record<string, string>) =>
  `<dl>\n${Object.entries(pairs)
    .map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`)
    .join('\n')}\n</dl>`;
