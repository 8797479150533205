/** Remedies of the operator for a control that fails, by the id of the control. */
export const controlRemedies: Readonly<Record<string, string>> = {
  'CC6.1-KEYS': 'Replace the signing key: countersign keys makes a stronger one.',
  'CC6.6': 'Lower RATE_LIMIT_PER_MINUTE.',
  'CC6.7': 'Serve the instance over TLS and set BASE_URL to its https:// address.',
  'CC7.1': 'Restore the triggers append_only, or take the privileges from the role of the service.',
  'CC7.2': 'Find out who changed the database. The log of the server names the first event that differs.',
  'C1.1': 'Set DATA_ENCRYPTION_KEY.',
  'A1.2': 'Switch fsync, full_page_writes and synchronous_commit on in PostgreSQL.',
};
