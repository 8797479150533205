/**
 * Moves the inline scripts of the pages into files: the Content-Security-Policy allows scripts of this server only. Refuses what the
 * policy would not allow.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const inline = /<script((?:\s+(?!src\b)[\w-]+(?:="[^"]*")?)*)\s*>([\s\S]*?)<\/script>/g;

/** Scripts and theme/style.css set these, too. */
const alsoSetElsewhere = / style="(?:--vp-vh:0px|position:relative);"/g;
const refused = /<[^>]+\s(?:style|on\w+)="[^"]*"[^>]*>|<style\b[^>]*>/g;

export function moveInlineScripts(folder: string): void {
  const problems = globSync('**/*.html', { cwd: folder }).flatMap((name) => {
    const file = join(folder, name);
    const source = readFileSync(file, 'utf8').replace(alsoSetElsewhere, '');
    const html = source.replace(inline, (_, attributes: string, code: string) => {
      if (!code.trim()) return '';
      const hash = createHash('sha256').update(code).digest('hex').slice(0, 10);
      const script = `assets/inline.${hash}.js`;
      writeFileSync(join(folder, script), code);
      return `<script${attributes} src="/docs/${script}"></script>`;
    });
    writeFileSync(file, html);
    return [...html.matchAll(refused)].map(([tag]) => `${name}: ${tag}`);
  });
  if (problems.length > 0)
    throw new Error(`the Content-Security-Policy does not allow\n${problems.slice(0, 50).join('\n')}`);
}
