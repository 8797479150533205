/** The demonstration: one event of the fetched copy is changed, so that people see what detection looks like. */
import type { ChainPage } from './evidence.ts';

/** Changes the event in the middle of the first page. The log itself stays as it is. */
export function createAlteration(): (page: ChainPage) => ChainPage {
  let isDone = false;
  return (page) => {
    const place = page.links.findIndex(({ event }, index) => event && index >= (page.links.length - 1) / 2);
    const chosen = page.links[place];
    if (isDone || !chosen?.event) return page;
    isDone = true;
    const event = { ...chosen.event, canonical: changed(chosen.event.canonical) };
    return { ...page, links: page.links.with(place, { ...chosen, event }) };
  };
}

const changed = (canonical: string): string =>
  canonical.includes('"outcome":"success"')
    ? canonical.replace('"outcome":"success"', '"outcome":"failure"')
    : canonical.replace('"outcome":"failure"', '"outcome":"success"');
