import Type from '../../contract/json-schema.ts';
import { open, type RouteEntry, redirect, rootRoute } from '../../kernel/http/route.ts';
import type { Site } from './site.ts';

const html = 'text/html; charset=utf-8';
const text = 'text/plain; charset=utf-8';

interface SitePages extends Site {
  /** The reference page of the API, in place of a site that is not built. */
  showReference(header: (name: string, value: string) => void): Promise<unknown>;
}

export const siteRoutes = ({ answer, refuse, showReference }: SitePages): RouteEntry[] => [
  rootRoute({
    id: 'docsSlash',
    summary: 'Leads to /docs',
    tag: 'Operational',
    method: 'GET',
    url: '/docs/',
    access: open(),
    limit: 'pageFiles',
    hidden: true,
    produces: html,
    schema: { response: { 200: Type.String() } },
    handler: () => redirect('/docs'),
  }),
  rootRoute({
    id: 'docs',
    summary: 'The documentation',
    tag: 'Operational',
    method: 'GET',
    url: '/docs',
    access: open(),
    limit: 'pageFiles',
    hidden: true,
    produces: html,
    schema: { response: { 200: Type.String() } },
    handler: async (input) => (await answer('', input)) ?? showReference(input.header),
  }),
  rootRoute({
    id: 'docsFile',
    summary: 'A page or a file of the documentation',
    tag: 'Operational',
    method: 'GET',
    url: '/docs/*',
    access: open(),
    limit: 'pageFiles',
    hidden: true,
    produces: html,
    schema: { params: Type.Object({ '*': Type.String() }), response: { 200: Type.String() } },
    handler: async (input) => (await answer(input.params['*'], input)) ?? refuse(input),
  }),
  ...['llms.txt', 'llms-full.txt'].map((name) =>
    rootRoute({
      id: name === 'llms.txt' ? 'llmsIndex' : 'llmsFull',
      summary: 'The documentation for language models',
      tag: 'Operational',
      method: 'GET',
      url: `/${name}`,
      access: open(),
      limit: 'pageFiles',
      hidden: true,
      produces: text,
      schema: { response: { 200: Type.String() } },
      handler: async (input) => (await answer(name, input)) ?? refuse(input),
    }),
  ),
];
