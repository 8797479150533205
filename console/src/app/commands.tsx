/** Commands of the palette that the mounted page offers. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';

export interface Command {
  readonly id: string;
  readonly label: string;
  /** More words that find it. */
  readonly keywords?: string | undefined;
  readonly run: () => void;
}

interface CommandRegistry {
  readonly commands: readonly Command[];
  readonly register: (commands: readonly Command[]) => () => void;
}

const CommandContext = createContext<CommandRegistry | undefined>(undefined);

export function CommandProvider({ children }: { readonly children: ReactNode }) {
  const [groups, setGroups] = useState<readonly (readonly Command[])[]>([]);
  const registry = useMemo<CommandRegistry>(
    () => ({
      commands: groups.flat(),
      register(commands) {
        setGroups((all) => [...all, commands]);
        return () => setGroups((all) => all.filter((one) => one !== commands));
      },
    }),
    [groups],
  );
  return <CommandContext value={registry}>{children}</CommandContext>;
}

export function useCommandRegistry(): CommandRegistry {
  const registry = useContext(CommandContext);
  if (!registry) throw new Error('commands need CommandProvider');
  return registry;
}

/** Offers commands in the palette while the component is mounted. They are identified by `id`. */
export function useCommands(commands: readonly Command[]): void {
  const { register } = useCommandRegistry();
  const latest = useRef(commands);
  latest.current = commands;
  const latestRegister = useRef(register);
  latestRegister.current = register;
  const key = JSON.stringify(commands.map(({ id, label }) => [id, label]));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the list
  useEffect(
    () =>
      latestRegister.current(
        latest.current.map((command, index) => ({ ...command, run: () => latest.current[index]?.run() })),
      ),
    [key],
  );
}
