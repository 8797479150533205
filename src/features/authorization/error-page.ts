/** The page for a request that cannot be answered by a redirect. The client chooses its host and the address, so both are escaped. */

import { escapeHtml, facts, htmlPage } from '../../kernel/http/responses/html-page.ts';
import type { Problem } from './endpoint.ts';

export const errorPage = ({ message, error, host, back }: Problem): string =>
  htmlPage(
    'The application cannot go on',
    `<p>${escapeHtml(message)}</p>
${facts({ ...(host !== undefined && { Application: host }), Error: error })}
${back === undefined ? '' : `<p><a href="${escapeHtml(back)}" rel="noreferrer">Go back to ${escapeHtml(new URL(back).host)}</a></p>`}
<p>Nothing was given to the application. You can close this page.</p>`,
  );
