/** Each link of the built pages, within the site, has a target: a file, and in it the anchor. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const isFile = (file: string): boolean => existsSync(file) && statSync(file).isFile();

/** Of the server, beside the built files. */
const served = /^\/(?:docs\/api|console|favicon\.ico|openapi\.json)\b/;

/** As the server finds it. */
const fileOf = (folder: string, path: string): string | undefined =>
  [path, `${path}.html`, join(path, 'index.html')].map((one) => join(folder, one)).find(isFile);

const decode = (text: string): string => decodeURIComponent(text.replaceAll('&amp;', '&'));

export function findDeadLinks(folder: string): string[] {
  const anchors = new Map<string, Set<string>>();
  const anchorsOf = (file: string): Set<string> => {
    const known = anchors.get(file);
    if (known) return known;
    const found = new Set(
      [...readFileSync(file, 'utf8').matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => decode(id)),
    );
    anchors.set(file, found);
    return found;
  };
  return globSync('**/*.html', { cwd: folder }).flatMap((page) => {
    const html = readFileSync(join(folder, page), 'utf8');
    return [...new Set([...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, link = '']) => link))].flatMap(
      (link) => {
        if (/^(?:https?|mailto):/.test(link) || served.test(link)) return [];
        if (!link.startsWith('#') && !/^\/docs(?:[/#]|$)/.test(link))
          return [`${page}: ${link} is outside of /docs`];
        const [path = '', anchor = ''] = link.split('#');
        const file = path === '' ? join(folder, page) : fileOf(folder, decode(path.slice('/docs'.length)));
        if (!file) return [`${page}: ${link} leads nowhere`];
        const hasAnchor = anchor === '' || !file.endsWith('.html') || anchorsOf(file).has(decode(anchor));
        return hasAnchor ? [] : [`${page}: ${link} has no such heading`];
      },
    );
  });
}

export function requireTargets(folder: string): void {
  const dead = findDeadLinks(folder);
  if (dead.length > 0) throw new Error(`dead links in the documentation:\n${dead.join('\n')}`);
}
