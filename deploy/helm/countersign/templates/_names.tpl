{{/* Names, labels and the image. */}}

{{- define "countersign.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 50 characters, so that "-worker" and the suffixes of pods fit into a label. */}}
{{- define "countersign.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $made := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $made .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* Of a component: serve has the plain name. */}}
{{- define "countersign.componentName" -}}
{{- $full := include "countersign.fullname" .root -}}
{{- if eq .component "serve" }}{{ $full }}{{ else }}{{ printf "%s-%s" $full .component }}{{ end -}}
{{- end -}}

{{/* They never change: a Deployment refuses another selector. */}}
{{- define "countersign.selectorLabels" -}}
app.kubernetes.io/name: {{ include "countersign.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "countersign.labels" -}}
{{ include "countersign.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "countersign.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "countersign.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "countersign.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}
