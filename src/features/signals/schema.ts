import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { httpsUrl } from '../../contract/patterns.ts';
import { literals, nameText, Uuid } from '../../contract/shapes.ts';
import { supportedEvents } from './event-types.ts';

const { signals } = limits;

export const pushMethod = 'urn:ietf:rfc:8935';
export const pollMethod = 'urn:ietf:rfc:8936';
export const deliveryMethods = [pushMethod, pollMethod] as const;
export const streamStatuses = ['enabled', 'paused', 'disabled'] as const;

const exampleId = '9f2c1d74-3b5e-4a86-9c1d-7e8f9a0b1c2d';
const streamId = Type.Unsafe<string>({ ...Uuid, examples: [exampleId] });
/** Of a request. SSF §8.1: any id that is not one of ours is not found. */
const wantedId = Type.String({ minLength: 1, maxLength: 128, examples: [exampleId] });
const EventTypes = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  maxItems: 50,
  uniqueItems: true,
  description: 'event types; those that we do not support are ignored, and without a list all are sent',
  examples: [[...supportedEvents]],
});
const Description = Type.String({
  ...nameText(255),
  examples: ['Orders API'],
});

const NewDelivery = Type.Object(
  {
    method: Type.Unsafe<(typeof deliveryMethods)[number]>({
      ...literals(deliveryMethods),
      examples: [pollMethod],
    }),
    endpoint_url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_048,
        documentedPattern: httpsUrl,
        description:
          'of a push stream: the https:// URL of the receiver, in ASCII, without credentials or fragment',
      }),
    ),
    authorization_header: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4_096,
        pattern: '^[!-~]([ -~]*[!-~])?$',
        description:
          'the value of the Authorization header that we send, in printable ASCII; of a push stream only, and never shown again',
      }),
    ),
  },
  { title: 'NewSignalDelivery', additionalProperties: false },
);
export type NewDelivery = Static<typeof NewDelivery>;

const InactivityTimeout = Type.Integer({
  minimum: signals.inactivitySeconds.min,
  maximum: signals.inactivitySeconds.max,
  examples: [3_600],
  description: `of a poll stream: seconds without a poll after which the stream is deleted; by default ${signals.inactivitySeconds.default}`,
});

const receiverFields = {
  events_requested: Type.Optional(EventTypes),
  description: Type.Optional(Description),
  inactivity_timeout: Type.Optional(InactivityTimeout),
};

/** A receiver may repeat what we answered (SSF §8.1.1.3), and may not change it. */
const description = 'as the stream has it: it can be repeated, not changed';
const transmitterFields = {
  iss: Type.Optional(Type.String({ maxLength: 512, description })),
  aud: Type.Optional(Type.String({ maxLength: 512, description })),
  events_supported: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 50, description })),
  events_delivered: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 50, description })),
};

export const NewStream = Type.Object(
  { delivery: Type.Optional(NewDelivery), ...receiverFields },
  { title: 'NewSignalStream', additionalProperties: false },
);
export type NewStream = Static<typeof NewStream>;

export const StreamReplacement = Type.Object(
  { stream_id: wantedId, delivery: Type.Optional(NewDelivery), ...receiverFields, ...transmitterFields },
  { title: 'SignalStreamReplacement', additionalProperties: false },
);
export type StreamReplacement = Static<typeof StreamReplacement>;

export const StreamChange = Type.Object(
  { stream_id: wantedId, delivery: Type.Optional(NewDelivery), ...receiverFields, ...transmitterFields },
  { title: 'SignalStreamChange', additionalProperties: false },
);
export type StreamChange = Static<typeof StreamChange>;

export const Stream = Type.Object(
  {
    stream_id: streamId,
    iss: Type.String({ description: 'the issuer of the security event tokens' }),
    aud: Type.String({
      description: 'the audience of the security event tokens: the id of the agent that created the stream',
      examples: ['7c9e6679-7425-40de-944b-e07fc1f90ae7'],
    }),
    delivery: Type.Object({
      method: literals(deliveryMethods),
      endpoint_url: Type.String({
        description: 'where to poll, or the receiver of a push stream',
        examples: ['https://id.talent.example.com/api/v1/ssf/poll/9f2c1d74-3b5e-4a86-9c1d-7e8f9a0b1c2d'],
      }),
    }),
    events_supported: Type.Array(Type.String(), { examples: [[...supportedEvents]] }),
    events_requested: EventTypes,
    events_delivered: Type.Array(Type.String(), { examples: [[...supportedEvents]] }),
    description: Type.Optional(Type.String({ examples: ['Orders API'] })),
    inactivity_timeout: Type.Optional(Type.Integer({ examples: [3_600] })),
  },
  { title: 'SignalStream' },
);
export type Stream = Static<typeof Stream>;

export const StreamQuery = Type.Object({
  stream_id: Type.Unsafe<string>({ ...wantedId, description: 'the id of the stream' }),
});
export const StreamsQuery = Type.Object({
  stream_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'one stream; by default a list of all' }),
  ),
});
export const PollParams = Type.Object({ streamId });

const StatusReason = Type.String({ ...nameText(255), examples: ['the receiver is back'] });

export const StreamStatus = Type.Object(
  {
    stream_id: streamId,
    status: literals(streamStatuses),
    reason: Type.Optional(Type.String({ examples: ['the receiver is back'] })),
  },
  { title: 'SignalStreamStatus' },
);
export type StreamStatus = Static<typeof StreamStatus>;

export const StatusChange = Type.Object(
  { stream_id: wantedId, status: literals(streamStatuses), reason: Type.Optional(StatusReason) },
  { title: 'SignalStreamStatusChange', additionalProperties: false },
);
export type StatusChange = Static<typeof StatusChange>;

export const VerificationRequest = Type.Object(
  {
    stream_id: wantedId,
    state: Type.Optional(
      Type.String({ maxLength: 1_024, examples: ['f1b2c3'], description: 'comes back in the event' }),
    ),
  },
  { title: 'SignalVerification', additionalProperties: false },
);
export type VerificationRequest = Static<typeof VerificationRequest>;

/** RFC 9493, and the complex subjects of SSF. */
const Subject = Type.Object(
  { format: Type.String({ minLength: 1, maxLength: 64 }) },
  {
    additionalProperties: true,
    maxProperties: 10,
    description: 'a subject identifier, as in `sub_id` of a signal',
    examples: [
      {
        format: 'iss_sub',
        iss: 'https://id.talent.example.com',
        sub: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
      },
    ],
  },
);

export const AddedSubject = Type.Object(
  {
    stream_id: wantedId,
    subject: Subject,
    verified: Type.Optional(
      Type.Boolean({
        description: 'whether the receiver knows that the subject is the one it means; we ignore it',
      }),
    ),
  },
  { title: 'AddedSignalSubject', additionalProperties: false },
);
export const RemovedSubject = Type.Object(
  { stream_id: wantedId, subject: Subject },
  { title: 'RemovedSignalSubject', additionalProperties: false },
);
export type SubjectChange = Static<typeof RemovedSubject>;

export const PollRequest = Type.Object(
  {
    maxEvents: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: signals.maxEvents.max,
        examples: [signals.maxEvents.default],
        description: `the most signals of the answer; by default ${signals.maxEvents.default}. With 0 the request only acknowledges, and learns whether there are more`,
      }),
    ),
    returnImmediately: Type.Optional(
      Type.Boolean({
        examples: [false],
        description: `true: do not wait for a signal. By default the answer waits up to ${signals.pollSeconds} seconds for the first one`,
      }),
    ),
    ack: Type.Optional(
      Type.Array(Type.String({ maxLength: 128 }), {
        maxItems: signals.maxAcknowledged,
        description: 'the `jti` of signals that the receiver has',
        examples: [['0198c0de-7a10-7c3e-9f00-9b7f04c1a2d3']],
      }),
    ),
    setErrs: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: Type.Object(
            {
              err: Type.String({ maxLength: 128 }),
              description: Type.Optional(Type.String({ maxLength: 1_024 })),
            },
            { additionalProperties: true },
          ),
          maxProperties: signals.maxAcknowledged,
          description: 'by `jti`: signals that the receiver refuses. They are not sent again',
          examples: [{}],
        },
      ),
    ),
  },
  { title: 'SignalPoll', additionalProperties: false },
);
export type PollRequest = Static<typeof PollRequest>;

export const PollResponse = Type.Object(
  {
    sets: Type.Object(
      {},
      {
        additionalProperties: Type.String(),
        description:
          'by `jti`: security event tokens (RFC 8417), which come again until they are acknowledged',
        examples: [
          { '0198c0de-7a10-7c3e-9f00-9b7f04c1a2d3': 'eyJ0eXAiOiJzZWNldmVudCtqd3QifQ.e30.c2lnbmF0dXJl' },
        ],
      },
    ),
    moreAvailable: Type.Boolean({ examples: [false] }),
  },
  { title: 'Signals' },
);
export type PollResponse = Static<typeof PollResponse>;
