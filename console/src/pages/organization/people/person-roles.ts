/** The roles of people, with their meaning. */
export const personRoles = {
  viewer: 'Sees what the agent may read, and changes nothing.',
  admin: 'Does all that the agent may do, and manages the organization.',
} as const;
