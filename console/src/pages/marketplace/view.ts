import type { ReactNode } from 'react';
import type { PageSearch } from '../../app/page.ts';
import type { marketplacePage } from './page.ts';

type Search = PageSearch<typeof marketplacePage>;

/** The two views of the page have the same inputs. */
export interface ViewProps {
  readonly search: Search;
  readonly onSearch: (changes: Partial<Search>) => void;
  /** The switch between the views. */
  readonly tabs: ReactNode;
}
