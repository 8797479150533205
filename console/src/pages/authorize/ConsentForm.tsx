import { Alert, Anchor, Button, Checkbox, Group, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { toApiError } from '../../api/api-error.ts';
import { type ConsentQuestion, type Decision, decide } from '../../api/authorization.ts';
import { ConfirmButton } from '../../components/ConfirmButton.tsx';
import { DetailsTable } from '../../components/DetailsTable.tsx';
import { ErrorAlert } from '../../components/ErrorAlert.tsx';
import { Facts } from '../../components/Facts.tsx';
import { Icon } from '../../components/Icon.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';
import classes from './Authorize.module.css';
import { isClientAddress, isThisComputer } from './addresses.ts';
import { approvalOf, type ConsentChoice, durations, endOf, firstChoice } from './consent-form.ts';
import { isOver, RequestOver } from './RequestOver.tsx';
import { SwitchPerson } from './SwitchPerson.tsx';

interface ConsentFormProps {
  readonly question: ConsentQuestion;
  readonly onSwitch: () => Promise<void>;
  readonly onSessionEnd: () => void;
}

/** Who asks, for what, until when, and the decision. */
export function ConsentForm({ question, onSwitch, onSessionEnd }: ConsentFormProps) {
  const [choice, setChoice] = useState<ConsentChoice>(() => firstChoice(question));
  const [sent, setSent] = useState<Decision['decision']>();
  const [error, setError] = useState<unknown>();
  const [answered, setAnswered] = useState<string>();
  const change = (changes: Partial<ConsentChoice>) => setChoice({ ...choice, ...changes });
  const approval = approvalOf(question, choice);

  const send = async (decision: Decision) => {
    setSent(decision.decision);
    setError(undefined);
    try {
      const redirectTo = await decide(question.requestId, decision);
      setAnswered(redirectTo);
      if (isClientAddress(redirectTo)) location.replace(redirectTo);
    } catch (failure) {
      setSent(undefined);
      if (toApiError(failure).status === 401) onSessionEnd();
      setError(failure);
    }
  };

  if (answered !== undefined) return <Answered redirectTo={answered} />;
  const problem = error === undefined ? undefined : toApiError(error);
  if (problem && isOver(problem) && problem.status !== 400) return <RequestOver />;
  return (
    <Stack gap="md">
      <ClientFacts question={question} />
      {isThisComputer(question.client.redirectHost) && (
        <Alert
          color="yellow"
          icon={<Icon name="warning" />}
          title="The answer goes to a program on this computer"
        >
          Any program here could have begun this. Allow it only if you have just started it yourself.
        </Alert>
      )}
      {question.authorizationDetails && question.authorizationDetails.length > 0 && (
        <section aria-label="The action">
          <Text size="sm" fw={500} mb={4}>
            For exactly this
          </Text>
          <DetailsTable details={question.authorizationDetails} />
        </section>
      )}
      <Scopes question={question} choice={choice} onChange={change} />
      <Radio.Group
        label="It may act for you for"
        value={choice.expiresIn}
        onChange={(expiresIn) => change({ expiresIn })}
        description={`Until ${endOf(choice.expiresIn, Date.now())}. You can end it earlier under My agents.`}
      >
        <Group gap="md" mt="xs">
          {durations.map(({ value, label }) => (
            <Radio key={value} value={value} label={label} />
          ))}
        </Group>
      </Radio.Group>
      <Checkbox
        label="It may pass this on to other agents of the organization"
        description="They could then act for you, too, with what you allow here."
        checked={choice.allowRedelegation}
        onChange={(event) => change({ allowRedelegation: event.currentTarget.checked })}
      />
      <div className={classes.person}>
        <Text size="sm" component="div" miw={0}>
          You are signed in as <TenantText text={question.person.name} />
          {question.person.email !== null && (
            <>
              {' '}
              (<TenantText text={question.person.email} />)
            </>
          )}
          .
        </Text>
        <SwitchPerson onSwitch={onSwitch} />
      </div>
      {error !== undefined && <ErrorAlert error={error} title="That did not work" />}
      <Group justify="flex-end">
        <Button
          variant="default"
          loading={sent === 'deny'}
          disabled={sent === 'approve'}
          onClick={() => void send({ decision: 'deny' })}
        >
          Deny
        </Button>
        <ConfirmButton
          loading={sent === 'approve'}
          disabled={!approval || sent === 'deny'}
          onClick={() => approval && void send(approval)}
        >
          Allow
        </ConfirmButton>
      </Group>
    </Stack>
  );
}

function ClientFacts({ question: { client, resource } }: Pick<ConsentFormProps, 'question'>) {
  const { name, host, redirectHost, registered } = client;
  return (
    <section aria-label="The application">
      <Facts
        facts={{
          [registered ? 'Application' : 'It calls itself']: <TenantText text={name} />,
          'Comes from': host !== null && <Host host={host} />,
          'Answer goes to': (
            <>
              <Host host={redirectHost} />
              {isThisComputer(redirectHost) && ' (this computer)'}
            </>
          ),
          'Registered by': registered
            ? 'an administrator of your organization'
            : 'no administrator of your organization. An application can give itself any name.',
          'Access to': (
            <Stack gap={0}>
              <TenantText text={resource.name} />
              <Text size="xs" c="dimmed" component="div">
                <TenantText text={resource.identifier} />
              </Text>
            </Stack>
          ),
        }}
      />
    </section>
  );
}

/** The one part of a client's description that it cannot choose freely. */
const Host = ({ host }: { readonly host: string }) => (
  <b className={classes.host}>
    <bdi>{visibleText(host)}</bdi>
  </b>
);

interface ScopesProps extends Pick<ConsentFormProps, 'question'> {
  readonly choice: ConsentChoice;
  readonly onChange: (changes: Partial<ConsentChoice>) => void;
}

function Scopes({ question: { scopes }, choice, onChange }: ScopesProps) {
  return (
    <Checkbox.Group
      label="It may do this for you"
      value={[...choice.scopes]}
      onChange={(chosen) => onChange({ scopes: chosen })}
      error={choice.scopes.length === 0 ? 'Choose at least one, or deny.' : undefined}
    >
      <Stack gap="xs" mt="xs">
        {scopes.map(({ name, description }) => (
          <Checkbox
            key={name}
            value={name}
            label={<bdi className={classes.text}>{visibleText(description ?? name)}</bdi>}
            description={description !== null && <code className={classes.text}>{visibleText(name)}</code>}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

/** The browser is on its way to the client. */
function Answered({ redirectTo }: { readonly redirectTo: string }) {
  if (!isClientAddress(redirectTo))
    return (
      <Alert color="red" role="alert" icon={<Icon name="warning" />} title="The answer cannot be delivered">
        The application wants it at an address that browsers must not open from here.
      </Alert>
    );
  return (
    <Text size="sm" role="status">
      Done. Going back to the application…{' '}
      <Anchor href={redirectTo} inherit>
        Continue to {new URL(redirectTo).hostname}
      </Anchor>
    </Text>
  );
}
