/** The roles of members, with their meaning. */
export const memberRoles = {
  member: 'Belongs to the organization; its scopes decide what it may do.',
  admin: 'Also manages members, people, billing, webhooks and grants of the organization.',
} as const;
