/** Roles as people read them. */
const words: Readonly<Record<string, string>> = {
  admin: 'Admin',
  member: 'Member',
  viewer: 'Viewer',
  none: 'No role',
};

export const roleWord = (role: string): string => words[role] ?? role;

/** For a filter by role. */
export const roleOptions = (roles: readonly string[]) =>
  roles.map((role) => ({ value: role, label: roleWord(role) }));
