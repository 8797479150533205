import { StatusBadge } from '../../components/StatusBadge.tsx';
import type { Control } from './evidence.ts';

const words: Readonly<Record<Control['status'], { readonly status: string; readonly label: string }>> = {
  pass: { status: 'passing', label: 'holds' },
  fail: { status: 'failing', label: 'fails' },
  unknown: { status: 'disabled', label: 'not known' },
};

export const ControlStatus = ({ status }: Pick<Control, 'status'>) => <StatusBadge {...words[status]} />;
