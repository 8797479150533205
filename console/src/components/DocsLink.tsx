import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';

interface DocsLinkProps {
  /** Below /docs, such as `guides/webhooks`. */
  readonly page: string;
  readonly children: ReactNode;
}

/** A link in a text to the documentation, which this instance serves. */
export const DocsLink = ({ page, children }: DocsLinkProps) => (
  <Anchor href={`/docs/${page}`} inherit underline="always">
    {children}
  </Anchor>
);
