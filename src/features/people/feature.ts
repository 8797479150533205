/**
 * People: who may sign in to the console through the OpenID provider, in which organization, as admin or viewer, and through which agent.
 * Owns `people`. The console feature signs people in, and ends their sessions when it hears of a change.
 */
import type { People, PeopleDeps } from './deps.ts';
import { peopleRoutes } from './routes.ts';
import { createPeopleService } from './service.ts';

export function createPeople(deps: PeopleDeps): People {
  const service = createPeopleService(deps);
  return { ...service, routes: peopleRoutes(service) };
}
