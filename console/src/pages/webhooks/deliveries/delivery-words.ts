/** Words for the states of deliveries and attempts. */
import type { WebhookAttempt } from '../../../api/generated.ts';
import type { deliveryStatuses } from '../page.ts';

export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const statusLabels: Readonly<Record<DeliveryStatus, string>> = {
  pending: 'pending',
  delivered: 'delivered',
  failed: 'failed',
  dead_letter: 'dead letter',
};

export const isAccepted = ({ http_status_code: status }: WebhookAttempt): boolean =>
  status !== null && status >= 200 && status < 300;

/** "HTTP 500", the error when there was no response, or nothing before the first attempt. */
export const resultOf = (attempt: WebhookAttempt | undefined): string =>
  attempt === undefined
    ? ''
    : attempt.http_status_code === null
      ? (attempt.error ?? 'no response')
      : `HTTP ${attempt.http_status_code}`;

export const count = (number: number, noun: string): string =>
  `${number.toLocaleString('en')} ${number === 1 ? noun : noun.replace(/y$/, 'ie').concat('s')}`;
