/** The modes of a client policy, and its form. */
import type { ClientPolicy } from '../../../api/generated.ts';

type Mode = ClientPolicy['mode'];

export const clientPolicyModes: Readonly<
  Record<Mode, { readonly label: string; readonly description: string; readonly sentence: string }>
> = {
  any: {
    label: 'Any',
    description: 'People decide for themselves. They see the host of the application before they do.',
    sentence: 'Every application is admitted; people decide for themselves.',
  },
  domains: {
    label: 'Of these domains',
    description: 'Applications of hosts that you list.',
    sentence: 'Applications of these domains are admitted:',
  },
  approval: {
    label: 'After approval',
    description: 'A new application waits in the list below until an administrator activates it.',
    sentence: 'An application is admitted after an administrator has activated it below.',
  },
  off: {
    label: 'None',
    description: 'Only applications that an administrator has registered as agents.',
    sentence: 'No application is admitted, except agents that were registered here.',
  },
};

export interface PolicyValues extends Record<string, unknown> {
  mode: Mode;
  domains: string[];
}

/** Domains count for one mode only. */
export const policyOf = ({ mode, domains }: PolicyValues) =>
  mode === 'domains' ? { mode, domains } : { mode };

export const policyProblems = ({
  mode,
  domains,
}: PolicyValues): Partial<Record<keyof PolicyValues, string>> =>
  mode === 'domains' && domains.length === 0 ? { domains: 'Name at least one, or choose None.' } : {};
