/** State transitions of a listing, with the role that may make each and its event. Others are refused. */
import type { EventType } from '../../contract/events.ts';
import type { ListingStatus } from './schema.ts';

export interface Transition {
  readonly by: 'owner' | 'operator';
  readonly event: EventType;
}

const publish: Transition = { by: 'owner', event: 'listing.published' };
const withdraw: Transition = { by: 'owner', event: 'listing.withdrawn' };
const suspend: Transition = { by: 'operator', event: 'listing.suspended' };
const reinstate: Transition = { by: 'operator', event: 'listing.reinstated' };

export const transitions: Readonly<Record<ListingStatus, Partial<Record<ListingStatus, Transition>>>> = {
  draft: { published: publish, suspended: suspend },
  published: { withdrawn: withdraw, suspended: suspend },
  withdrawn: { published: publish, suspended: suspend },
  suspended: { draft: reinstate, published: reinstate, withdrawn: reinstate },
};
