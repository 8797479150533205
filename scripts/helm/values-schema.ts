/**
 * values.schema.json of the Helm chart. Every object is closed, so that Helm refuses a misspelt value. Parts that the chart copies into
 * Kubernetes objects are open: the API server checks them.
 */
import { type TProperties, type TSchema, Type } from 'typebox';
import type { Variable } from '../../src/kernel/config/variables.ts';
import { fileVariables, managedVariables, plainVariables, secretKey } from './variables-file.ts';

const closed = (properties: TProperties, description?: string) =>
  Type.Object(properties, { additionalProperties: false, ...(description !== undefined && { description }) });
/** Helm removes a value that is set to null, so nothing is required here. */
const partial = (properties: Record<string, TSchema>) =>
  closed(
    Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)])),
  );

const text = Type.String();
const flag = Type.Boolean();
const whole = (minimum: number, maximum?: number) =>
  Type.Integer({ minimum, ...(maximum !== undefined && { maximum }) });
const kubernetesObject = Type.Object({});
const kubernetesList = Type.Array(Type.Object({}));
const labels = Type.Record(Type.String(), Type.String());
const oneOf = (...words: string[]) => Type.Enum(words);

const percentage = Type.String({ pattern: '^[0-9]{1,3}%$' });
const budget = partial({
  enabled: flag,
  maxUnavailable: Type.Union([whole(0), percentage]),
  minAvailable: Type.Union([whole(0), percentage, Type.Literal('')]),
});
const resources = partial({ requests: kubernetesObject, limits: kubernetesObject, claims: kubernetesList });
const probe = partial({
  initialDelaySeconds: whole(0),
  periodSeconds: whole(1),
  timeoutSeconds: whole(1),
  failureThreshold: whole(1),
  successThreshold: whole(1),
});
const peers = (ports: boolean) =>
  partial({ ...(ports && { ports: Type.Array(whole(1, 65_535), { minItems: 1 }) }), to: kubernetesList });

/** Text, because a variable is text; numbers and flags, because YAML reads them so without quotes. */
const setting = ({ description }: Variable<unknown>) =>
  Type.Union([Type.String(), Type.Number(), Type.Boolean()], { description });
/** Here so that the templates refuse it, with a message that says where it belongs. */
const refused = ({ env }: Variable<unknown>) =>
  Type.Unknown({ description: `Refused here. ${env} comes from the Secret or from the chart.` });
const byEnv = (list: readonly Variable<unknown>[], schema: (variable: Variable<unknown>) => TSchema) =>
  Object.fromEntries(list.map((variable) => [variable.env, schema(variable)]));

const config = partial({
  ...byEnv(plainVariables, setting),
  ...byEnv([...fileVariables, ...managedVariables], refused),
  REDIS_URL: Type.String({
    description: 'Only memory://, for a single process without Redis. Else the Secret has the key redis-url.',
  }),
});

const fileKeys = fileVariables.map(({ env }) => secretKey(env));
const optionalKeys = fileVariables.filter(({ required }) => !required).map(({ env }) => secretKey(env));
const secretReference = closed({ name: Type.String({ minLength: 1 }), key: Type.String({ minLength: 1 }) });

export const valuesSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Values of the Countersign chart',
  ...partial({
    // Helm gives it to a chart that is part of another one.
    global: kubernetesObject,
    nameOverride: text,
    fullnameOverride: text,
    image: partial({
      repository: Type.String({ minLength: 1 }),
      tag: text,
      digest: Type.String({ pattern: '^(sha256:[0-9a-f]{64})?$' }),
      pullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
    }),
    imagePullSecrets: kubernetesList,
    existingSecret: text,
    optionalSecrets: Type.Array(oneOf(...optionalKeys), { uniqueItems: true }),
    otherSecrets: partial(Object.fromEntries(fileKeys.map((key) => [key, secretReference]))),
    config,
    extraEnv: Type.Array(Type.Object({ name: Type.String({ minLength: 1 }) })),
    extraVolumes: kubernetesList,
    extraVolumeMounts: kubernetesList,
    migrations: partial({ resources }),
    serve: partial({
      replicas: whole(1),
      resources,
      shutdownDelaySeconds: whole(0, 300),
      podDisruptionBudget: budget,
      autoscaling: partial({
        enabled: flag,
        minReplicas: whole(1),
        maxReplicas: whole(1),
        targetCPUUtilizationPercentage: whole(1, 100),
        behavior: kubernetesObject,
      }),
    }),
    worker: partial({ enabled: flag, replicas: whole(1), resources, podDisruptionBudget: budget }),
    serviceAccount: partial({ create: flag, name: text, annotations: labels }),
    service: partial({
      type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer'),
      port: whole(1, 65_535),
      annotations: labels,
    }),
    ingress: partial({
      enabled: flag,
      className: text,
      annotations: labels,
      tls: partial({ enabled: flag, secretName: text }),
    }),
    networkPolicy: partial({
      enabled: flag,
      ingressFrom: kubernetesList,
      metricsFrom: kubernetesList,
      egress: partial({
        dns: peers(true),
        database: peers(true),
        redis: peers(true),
        kafka: peers(false),
        nats: peers(true),
        smtp: peers(true),
        https: peers(true),
      }),
      extraIngress: kubernetesList,
      extraEgress: kubernetesList,
    }),
    serviceMonitor: partial({
      enabled: flag,
      labels,
      interval: Type.String({ pattern: '^[0-9]+(ms|s|m)$' }),
      scrapeTimeout: Type.String({ pattern: '^[0-9]+(ms|s|m)$' }),
    }),
    prometheusRule: partial({ enabled: flag, labels }),
    probes: partial({ startup: probe, liveness: probe, readiness: probe }),
    topologySpreadConstraints: kubernetesList,
    affinity: kubernetesObject,
    nodeSelector: labels,
    tolerations: kubernetesList,
    priorityClassName: text,
    podAnnotations: labels,
    podLabels: labels,
    podSecurityContext: kubernetesObject,
    securityContext: kubernetesObject,
  }),
};
