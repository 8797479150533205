/** The profiles of `countersign login`: a private file. This module owns its place and its format. */
import { join } from 'node:path';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { quoted } from '../../terminal.ts';
import { changePrivateFile, configFolder, readPrivateFile } from '../private-file.ts';

interface ClientProfile {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A sign-in with a one-time code of the console (session.ts). */
export interface SessionProfile {
  readonly url: string;
  /** The session cookie: name and value. */
  readonly session: string;
  readonly expiresAt: string;
}

export type Profile = ClientProfile | SessionProfile;

interface Profiles {
  readonly current: string | undefined;
  readonly profiles: ReadonlyMap<string, Profile>;
}

export const defaultProfile = 'default';

export const profilesFile = (io: Io): string =>
  io.env.COUNTERSIGN_CONFIG || join(configFolder(io), 'profiles.json');

export function requireProfileName(name: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name))
    throw new CommandError(
      `${quoted(name)} cannot name a profile; use at most 64 letters, digits, dots, hyphens and underscores`,
      exitCodes.usage,
    );
}

/** The profile of this name, or the current one. */
export function findProfile(io: Io, name?: string): (Profile & { readonly name: string }) | undefined {
  const { current, profiles } = readProfiles(io);
  const wanted = name ?? current;
  const profile = wanted === undefined ? undefined : profiles.get(wanted);
  return profile && wanted !== undefined ? { ...profile, name: wanted } : undefined;
}

export function readProfiles(io: Io): Profiles {
  const file = profilesFile(io);
  const text = readPrivateFile(io, file);
  return text === undefined ? { current: undefined, profiles: new Map() } : parseProfiles(text, file);
}

function parseProfiles(text: string, file: string): Profiles {
  let problem = 'is not valid JSON';
  try {
    const content = JSON.parse(text);
    problem = 'holds no profiles';
    const { current, profiles } = content;
    const entries = Object.entries<unknown>(profiles);
    const isComplete = entries.every(([, profile]) => isProfile(profile));
    if (isComplete && (current === undefined || typeof current === 'string'))
      return { current, profiles: new Map(entries as [string, Profile][]) };
  } catch {
    // The same as an incomplete file.
  }
  throw new CommandError(`${file} ${problem}; repair it, or remove it and run \`countersign login\``);
}

const isProfile = (value: unknown): value is Profile => {
  const { url, clientId, clientSecret, session, expiresAt } = (value ?? {}) as Record<string, unknown>;
  const areTexts = (...values: unknown[]) => values.every((text) => typeof text === 'string');
  return areTexts(url, clientId, clientSecret) || areTexts(url, session, expiresAt);
};

/** Stores what `change` makes of the profiles. */
export const changeProfiles = (io: Io, change: (profiles: Profiles) => Profiles): Promise<void> =>
  changePrivateFile(io, profilesFile(io), () => {
    const { current, profiles } = change(readProfiles(io));
    return `${JSON.stringify({ current, profiles: Object.fromEntries(profiles) }, null, 2)}\n`;
  });
