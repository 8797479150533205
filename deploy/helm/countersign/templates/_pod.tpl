{{/* The pods of both Deployments: they differ in command, port, resources and grace period. Takes root, component and settings. */}}
{{- define "countersign.podTemplate" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $isWorker := eq .component "worker" -}}
{{- $secretsFolder := include "countersign.secretsFolder" $root -}}
{{- $databaseKeys := dict -}}
{{- range $key, $source := include "countersign.secretKeys" $root | fromYaml -}}
{{- if hasPrefix "database-" $key }}{{ $_ := set $databaseKeys $key $source }}{{ end -}}
{{- end -}}
metadata:
  # Not the version of the chart: a new chart alone does not restart the pods.
  labels:
    {{- include "countersign.selectorLabels" . | nindent 4 }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "countersign.serviceAccountName" $root }}
  automountServiceAccountToken: false
  # Otherwise each Service of the namespace adds variables, and some could have the name of ours.
  enableServiceLinks: false
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  # A process ends at the latest 15 seconds after its delay.
  terminationGracePeriodSeconds: {{ ternary 20 (add 20 (int $values.serve.shutdownDelaySeconds)) $isWorker }}
  securityContext:
    {{- toYaml $values.podSecurityContext | nindent 4 }}
  initContainers:
    # Migrations take the time that they need: no probe ends this container. A lock lets one pod apply them at a time. It reads the
    # variables of the database, and sees no other secret.
    - name: migrate
      image: {{ include "countersign.image" $root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: [migrate]
      env:
        {{- range $name, $value := $values.config }}
        {{- if hasPrefix "DATABASE_" $name }}
        - name: {{ $name }}
          value: {{ include "countersign.text" $value | quote }}
        {{- end }}
        {{- end }}
        {{- range $key, $source := $databaseKeys }}
        - name: {{ $source.env }}_FILE
          value: {{ $secretsFolder }}/{{ $key }}
        {{- end }}
        {{- with $values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      securityContext:
        {{- toYaml $values.securityContext | nindent 8 }}
      resources:
        {{- toYaml $values.migrations.resources | nindent 8 }}
      volumeMounts:
        {{- range $key, $source := $databaseKeys }}
        - name: secrets
          mountPath: {{ $secretsFolder }}/{{ $key }}
          subPath: {{ $key }}
          readOnly: true
        {{- end }}
        - name: tmp
          mountPath: /tmp
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  containers:
    - name: countersign
      image: {{ include "countersign.image" $root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      {{- if $isWorker }}
      args: [worker]
      {{- else if $values.worker.enabled }}
      args: [serve, --no-worker]
      {{- else }}
      args: [serve]
      {{- end }}
      env:
        {{- include "countersign.env" . | trim | nindent 8 }}
      ports:
        - name: {{ ternary "metrics" "http" $isWorker }}
          containerPort: {{ ternary 3001 3000 $isWorker }}
          protocol: TCP
      {{- range $probe, $path := dict "startup" "/livez" "liveness" "/livez" "readiness" "/readyz" }}
      {{ $probe }}Probe:
        httpGet:
          path: {{ $path }}
          port: {{ ternary "metrics" "http" $isWorker }}
        {{- toYaml (get $values.probes $probe) | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml $values.securityContext | nindent 8 }}
      resources:
        {{- toYaml .settings.resources | nindent 8 }}
      volumeMounts:
        - name: secrets
          mountPath: {{ $secretsFolder }}
          readOnly: true
        - name: tmp
          mountPath: /tmp
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "countersign.secretsVolume" $root | nindent 4 }}
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  topologySpreadConstraints:
    {{- include "countersign.topologySpread" . | nindent 4 }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
{{- end -}}

{{- define "countersign.topologySpread" -}}
{{- $selector := dict "matchLabels" (include "countersign.selectorLabels" . | fromYaml) -}}
{{- $constraints := .root.Values.topologySpreadConstraints -}}
{{- if not $constraints -}}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" -}}
{{- $constraints = append $constraints (dict "maxSkew" 1 "topologyKey" . "whenUnsatisfiable" "ScheduleAnyway" "matchLabelKeys" (list "pod-template-hash")) -}}
{{- end -}}
{{- end -}}
{{- $complete := list -}}
{{- range $constraints -}}
{{- $complete = append $complete (ternary . (merge (dict "labelSelector" $selector) .) (hasKey . "labelSelector")) -}}
{{- end -}}
{{- toYaml $complete -}}
{{- end -}}
