import { definePage } from '../../app/page.ts';
import { text } from '../../app/search-params.ts';

/** `countersign login` opens it. A session of the command line could not use it. */
export const commandLinePage = definePage({
  path: '/command-line',
  title: 'Sign in to the command line',
  forMembers: true,
  search: { port: text(), state: text(), code_challenge: text(), code_challenge_method: text() },
});
