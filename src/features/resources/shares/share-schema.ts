/** Shares, as the owner and as the receiving organization see them. */
import type { Static } from 'typebox';
import Type from '../../../contract/json-schema.ts';
import { pageSizes } from '../../../contract/limits.ts';
import { literals, PageOf, pageQuery, Timestamp, Uuid } from '../../../contract/shapes.ts';

const shareStatuses = ['offered', 'accepted'] as const;
type ShareStatus = (typeof shareStatuses)[number];

const shareFields = {
  scopes: Type.Array(Type.String(), {
    description: 'in force if the status is `accepted`; those of the offer if it is `offered`',
  }),
  offeredScopes: Type.Array(Type.String(), {
    description: 'those that wait until the receiving organization accepts them',
  }),
  status: Type.Unsafe<ShareStatus>({
    ...literals(shareStatuses),
    description: 'a share that is only offered gives nothing',
  }),
};

export const Share = Type.Object(
  {
    resourceId: Uuid,
    organizationId: Uuid,
    ...shareFields,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'ResourceShare' },
);
export type Share = Static<typeof Share>;
/** In the list: what ends with the share. */
export const ListedShare = Type.Object(
  {
    ...Share.properties,
    agentCount: Type.Integer({
      description: "how many of the organization's agents hold a grant for the API",
    }),
  },
  { title: 'ListedResourceShare' },
);
export type ListedShare = Static<typeof ListedShare>;
export const SharePage = PageOf(ListedShare, 'ResourceSharePage');
export const ShareParams = Type.Object({ resourceId: Uuid, organizationId: Uuid });

/** As the receiving organization sees it. */
export const ReceivedShare = Type.Object(
  {
    resourceId: Uuid,
    identifier: Type.String({ description: 'the audience of its tokens' }),
    name: Type.String(),
    verified: Type.Boolean({
      description: "whether the owner has proven the identifier's host; if not, no token is issued for it",
    }),
    ownerId: Uuid,
    ownerName: Type.String(),
    ownerSlug: Type.String(),
    ...shareFields,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'ReceivedShare' },
);
export type ReceivedShare = Static<typeof ReceivedShare>;
export const ReceivedSharePage = PageOf(ReceivedShare, 'ReceivedSharePage');
export const ReceivedShareQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  status: Type.Optional(
    Type.Unsafe<ShareStatus>({ ...literals(shareStatuses), description: 'shares with this status' }),
  ),
});
export type ReceivedShareQuery = Static<typeof ReceivedShareQuery>;
