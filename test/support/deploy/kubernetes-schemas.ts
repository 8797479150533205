/**
 * Checks Kubernetes objects against the schemas of their kinds. The schemas allow unknown fields, which the API server drops or
 * refuses. So the object is read through a proxy: a field that the validator never reads is not in the schema.
 */
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Pod } from 'kubernetes-models/v1/Pod';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';

const kinds = [
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  NetworkPolicy,
  Pod,
  PodDisruptionBudget,
  PrometheusRule,
  Service,
  ServiceAccount,
  ServiceMonitor,
];

/** Every problem as a sentence; none when the object is valid. */
export function schemaProblems(object: { apiVersion: string; kind: string }): string[] {
  const model = kinds.find(
    ({ apiVersion, kind }) => apiVersion === object.apiVersion && kind === object.kind,
  );
  if (!model) return [`there is no schema of ${object.apiVersion} ${object.kind}`];
  const unread = new Set<string>();
  try {
    model.prototype.validate.call(observe(object, '', unread) as never);
  } catch (error) {
    return [(error as Error).message];
  }
  return [...unread].map((path) => `${path} is no field of ${object.kind}`);
}

/** Adds the path of every field to `unread`, and removes it when the field is read. */
function observe(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const fields = new Map<string, unknown>();
  for (const [name, inner] of Object.entries(value)) {
    const innerPath = `${path}/${name}`;
    unread.add(innerPath);
    fields.set(name, observe(inner, innerPath, unread));
  }
  return new Proxy(value, {
    get(target, name, receiver) {
      if (typeof name !== 'string' || !fields.has(name)) return Reflect.get(target, name, receiver);
      unread.delete(`${path}/${name}`);
      return fields.get(name);
    },
  });
}
