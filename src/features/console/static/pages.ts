/** The console's page and its files. The page is different in each response, by its nonce; a file is the same in all. */

import { fail } from '../../../kernel/fail.ts';
import { answerFile } from '../../../kernel/http/responses/built-files.ts';
import type { ConsoleDeps } from '../feature.ts';

interface Reply {
  header(name: string, value: string): void;
}

export interface Pages {
  /** The file of this name, or the page: the console reads the path itself. */
  at(name: string, reply: Reply): Promise<unknown>;
  icon(reply: Reply): Promise<unknown>;
}

const placeholder = '__CSP_NONCE__';

/** Mantine writes style elements, which carry the nonce. */
const policyWith = (nonce: string): string =>
  [
    "default-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self'",
  ].join('; ');

/** A worker has the policy of its own file, not that of the page: it loads its parts and calls the API. */
const scriptPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'";

/** For an instance without a built console. A seal: a ring and a check mark. */
const builtInIcon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="14" fill="#1f4b99"/><path d="M9 16.5l5 5 9-10" fill="none" stroke="#fff" stroke-width="3"/></svg>';

export function createPages({ files, ids }: Pick<ConsoleDeps, 'files' | 'ids'>): Pages {
  const page = async ({ header }: Reply): Promise<string> => {
    const html = await files.pageText('index.html');
    if (html === undefined)
      return fail('ROUTE_NOT_FOUND', {
        message:
          'The console is not built here: run `npm run build:console` in the checkout and reload, or install the published package. The API is at /docs/api.',
      });
    const nonce = ids.secret('');
    header('content-type', 'text/html; charset=utf-8');
    header('content-security-policy', policyWith(nonce));
    return html.replaceAll(placeholder, nonce);
  };

  return {
    async at(name, reply) {
      // A mistyped path of the console's API is no page.
      if (name === 'api' || name.startsWith('api/')) fail('ROUTE_NOT_FOUND');
      const file = name === 'index.html' ? undefined : await files.find(name);
      // A page in place of a script would only hide that the script is gone.
      if (!file && name.startsWith('assets/')) fail('ROUTE_NOT_FOUND');
      if (!file) return page(reply);
      if (file.contentType.startsWith('text/javascript'))
        reply.header('content-security-policy', scriptPolicy);
      return answerFile(file, reply.header);
    },

    async icon({ header }) {
      const file = await files.find('favicon.svg');
      header('cache-control', 'public, max-age=86400');
      return file ? file.content : builtInIcon;
    },
  };
}
