/** The title of the tab: the page, and before it the number of approvals that wait. */
import { useEffect } from 'react';

let page = 'Countersign';
let count = 0;

const show = (): void => {
  document.title = count > 0 ? `(${count}) ${page}` : page;
};

/** Names the page in the title of the tab. */
export function usePageTitle(name: string): void {
  useEffect(() => {
    page = `${name} · Countersign`;
    show();
  }, [name]);
}

export function useTitleCount(waiting: number): void {
  useEffect(() => {
    count = waiting;
    show();
  }, [waiting]);
}
