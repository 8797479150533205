/** Whose log a caller asks for: its own, and for the operator any. */
import { type Caller, isOperator } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';

/** Another tenant's log looks nonexistent. */
export function organizationOf(caller: Caller, requested: string | undefined): string {
  const organizationId = requested?.toLowerCase() ?? caller.organizationId;
  return organizationId === caller.organizationId || isOperator(caller)
    ? organizationId
    : fail('ORG_NOT_FOUND');
}
