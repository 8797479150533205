/** The pages: every folder here with a page.ts is one. Each exports `pages`, so that a list and its single item share a folder. */
import type { Page } from '../app/page.ts';

const folders = import.meta.glob<{ readonly pages: readonly Page[] }>('./*/page.ts', { eager: true });

export const pages: readonly Page[] = Object.values(folders).flatMap((folder) => folder.pages);
