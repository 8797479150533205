{{/*
The environment of the containers. files/variables.yaml is generated from the variables of the server: `plain` has those that `config`
may set, `managed` those that the chart sets, `files` those that the pods read from files, each with its key in the Secret.
*/}}

{{/* YAML numbers are floating-point numbers here: 1000000 must not become 1e+06. */}}
{{- define "countersign.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ printf "%d" (int64 .) }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{/* "true" when the one process keeps its counters in memory. */}}
{{- define "countersign.withoutRedis" -}}
{{- if eq (get .Values.config "REDIS_URL" | toString) "memory://" }}true{{ end -}}
{{- end -}}

{{/* The keys that the pods read, as a YAML map: key → {env, secret, secretKey}. */}}
{{- define "countersign.secretKeys" -}}
{{- $used := dict -}}
{{- $variables := .Files.Get "files/variables.yaml" | fromYaml -}}
{{- range $key, $variable := $variables.files -}}
{{- $other := get $.Values.otherSecrets $key -}}
{{- $isWanted := or $variable.required (has $key $.Values.optionalSecrets) $other -}}
{{- if and (eq $key "redis-url") (include "countersign.withoutRedis" $) }}{{ $isWanted = false }}{{ end -}}
{{- if $isWanted -}}
{{- $secret := $.Values.existingSecret -}}
{{- $secretKey := $key -}}
{{- with $other }}{{ $secret = .name }}{{ $secretKey = .key }}{{ end -}}
{{- $_ := set $used $key (dict "env" $variable.env "secret" $secret "secretKey" $secretKey) -}}
{{- end -}}
{{- end -}}
{{- toYaml $used -}}
{{- end -}}

{{/*
Below a folder of its own: Kubernetes and its add-ons mount other secrets in /run/secrets, and could not do so inside this volume, which is
read-only.
*/}}
{{- define "countersign.secretsFolder" -}}/run/secrets/countersign{{- end -}}

{{- define "countersign.env" -}}
{{- $root := .root -}}
{{- range $name, $value := $root.Values.config }}
- name: {{ $name }}
  value: {{ include "countersign.text" $value | quote }}
{{- end }}
{{- if eq .component "worker" }}
- name: WORKER_PORT
  value: "3001"
{{- else }}
- name: PORT
  value: "3000"
- name: SHUTDOWN_DELAY_SECONDS
  value: {{ include "countersign.text" $root.Values.serve.shutdownDelaySeconds | quote }}
{{- end }}
{{- range $key, $source := include "countersign.secretKeys" $root | fromYaml }}
- name: {{ $source.env }}_FILE
  value: {{ include "countersign.secretsFolder" $root }}/{{ $key }}
{{- end }}
{{- with $root.Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* One volume for all keys: one source for each Secret. */}}
{{- define "countersign.secretsVolume" -}}
{{- $items := dict -}}
{{- range $key, $source := include "countersign.secretKeys" . | fromYaml -}}
{{- $item := dict "key" $source.secretKey "path" $key -}}
{{- $_ := set $items $source.secret (append (get $items $source.secret | default list) $item) -}}
{{- end -}}
- name: secrets
  projected:
    # 0440: the group of the pod may read. YAML parsers disagree about octal numbers.
    defaultMode: 288
    sources:
      {{- range $secret, $list := $items }}
      - secret:
          name: {{ $secret }}
          items:
            {{- toYaml $list | nindent 12 }}
      {{- end }}
{{- end -}}
