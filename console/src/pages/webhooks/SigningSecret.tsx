import type { WebhookSubscriptionWithSecret } from '../../api/generated.ts';
import { SecretOnce } from '../../components/SecretOnce.tsx';

export interface SigningSecretProps {
  /** Undefined: closed. */
  readonly subscription: WebhookSubscriptionWithSecret | undefined;
  readonly onClose: () => void;
}

/** The signing secret after creation and rotation. */
export function SigningSecret({ subscription, onClose }: SigningSecretProps) {
  return (
    <SecretOnce
      secret={subscription?.signingSecret}
      onClose={onClose}
      name="Signing secret"
      note="The server does not show it again. Your receiver verifies each delivery with it. Copy it now, or download it."
      variables={{ WEBHOOK_ID: subscription?.id ?? '', SIGNING_SECRET: subscription?.signingSecret ?? '' }}
      fileName="webhook"
    />
  );
}
