import { Button, type ButtonProps } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon.tsx';

interface IconButtonProps extends ButtonProps {
  readonly icon: IconName;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

/** A button with an icon before its text. */
export const IconButton = ({ icon, ...rest }: IconButtonProps) => (
  <Button leftSection={<Icon name={icon} size={14} />} {...rest} />
);
