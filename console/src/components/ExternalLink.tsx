import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon } from './Icon.tsx';
import { TenantText } from './TenantText.tsx';

interface ExternalLinkProps {
  /** Text from a tenant or a partner. Only http and https become links. */
  readonly href: string;
  /** The URL itself, unless given. */
  readonly children?: ReactNode;
}

/** A link out of the console, marked as such. Anything but http(s) is shown as text. */
export function ExternalLink({ href, children }: ExternalLinkProps) {
  const content = children ?? <TenantText text={href} />;
  if (!isWebAddress(href)) return <>{content}</>;
  return (
    <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" inherit>
      {content} <Icon name="external" size={12} />
      <span className="visually-hidden">(opens in a new tab)</span>
    </Anchor>
  );
}

function isWebAddress(href: string): boolean {
  const url = URL.canParse(href) ? new URL(href) : undefined;
  return url?.protocol === 'https:' || url?.protocol === 'http:';
}
