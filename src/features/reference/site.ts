/** The documentation site: pages, their Markdown and their assets, as `npm run docs` has built them. */
import { fail } from '../../kernel/fail.ts';
import { answerFile, type BuiltFiles } from '../../kernel/http/responses/built-files.ts';
import { refusalPage } from '../../kernel/http/route.ts';
import { asksForHtml } from './accept.ts';

interface Reply {
  readonly headers: Readonly<Record<string, unknown>>;
  header(name: string, value: string): void;
}

/** The scripts and styles of the pages are files of this server. The style has icons as data. */
const policy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ');

/** Addresses of pages have no ending: `guides/webhooks`, `guides/`. */
const namesOf = (path: string): string[] =>
  path === '' || path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`, `${path}/index.html`];

export function createSite(files: BuiltFiles) {
  const find = async (path: string) => {
    for (const name of namesOf(path)) {
      const file = await files.find(name);
      if (file) return file;
    }
    return undefined;
  };

  const answer = async (path: string, { header }: Reply) => {
    const file = await find(path);
    if (!file) return undefined;
    if (file.contentType.startsWith('text/html')) header('content-security-policy', policy);
    return answerFile(file, header);
  };

  return {
    /** Undefined when the site is not built, or has no such file. */
    answer,

    /** In place of a file that is missing. */
    async refuse({ headers, header }: Reply) {
      const page = await files.pageText('404.html');
      if (page === undefined)
        fail('ROUTE_NOT_FOUND', {
          message:
            'The documentation is not built here: run `npm run docs` in the checkout and reload, or install the published package. The API reference is at /docs/api.',
        });
      if (!asksForHtml(headers.accept))
        fail('ROUTE_NOT_FOUND', {
          message: 'The documentation has no such page; /llms.txt lists the pages.',
        });
      header('content-security-policy', policy);
      return refusalPage(404, page);
    },
  };
}

export type Site = ReturnType<typeof createSite>;
