import { type Caller, tenantOf } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';
import { attachment } from './attachment.ts';
import type { ScaffoldDeps } from './feature.ts';
import { fill } from './project.ts';
import type { Language } from './schema.ts';

export interface Scaffold {
  /** The header that names the archive. */
  readonly disposition: string;
  /** The archive's bytes, as a stream. */
  readonly archive: unknown;
}

export interface ScaffoldService {
  scaffold(caller: Caller, agentId: string, language: Language): Promise<Scaffold>;
}

export const createScaffoldService = (deps: ScaffoldDeps): ScaffoldService => ({
  async scaffold(caller, agentId, language) {
    const agent = (await deps.findAgent(agentId)) ?? fail('AGENT_NOT_FOUND');
    const tenant = tenantOf(caller);
    // Other routes answer 404 for another organization's agent; the spec requires 403 here.
    if (tenant !== undefined && agent.organizationId !== tenant)
      fail('FORBIDDEN', { message: 'This agent belongs to another organization.' });
    if (agent.status === 'decommissioned')
      fail('AGENT_DECOMMISSIONED', {
        status: 422,
        message: 'The agent is decommissioned: a project for it could never get a token.',
      });
    const name = agent.email.slice(0, agent.email.lastIndexOf('@'));
    const files = fill(await deps.template(language), { ...agent, name, apiUrl: deps.apiUrl });
    return { disposition: attachment(name), archive: deps.archive(files) };
  },
});
