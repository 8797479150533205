{{/* The connections that the pods open: both components need the same. */}}
{{- define "countersign.egress" -}}
{{- $egress := .Values.networkPolicy.egress -}}
{{- $config := .Values.config -}}
{{- $secrets := include "countersign.secretKeys" . | fromYaml -}}
{{- $rules := list (dict "ports" $egress.dns.ports "protocols" (list "UDP" "TCP") "to" $egress.dns.to) -}}
{{- $rules = append $rules (dict "ports" $egress.database.ports "to" $egress.database.to) -}}
{{- if not (include "countersign.withoutRedis" .) -}}
{{- $rules = append $rules (dict "ports" $egress.redis.ports "to" $egress.redis.to) -}}
{{- end -}}
{{- with $config.KAFKA_BROKERS -}}
{{- $ports := list -}}
{{- range splitList "," (toString .) }}{{ $ports = append $ports (regexFind "[0-9]+$" (trim .) | int) }}{{ end -}}
{{- $rules = append $rules (dict "ports" (uniq $ports) "to" $egress.kafka.to) -}}
{{- end -}}
{{- if hasKey $secrets "nats-url" -}}
{{- $rules = append $rules (dict "ports" $egress.nats.ports "to" $egress.nats.to) -}}
{{- end -}}
{{- if hasKey $secrets "smtp-url" -}}
{{- $rules = append $rules (dict "ports" $egress.smtp.ports "to" $egress.smtp.to) -}}
{{- end -}}
{{- $https := $egress.https.to -}}
{{- if and (not $https) (ne (toString $config.WEBHOOK_ALLOW_PRIVATE_TARGETS | lower) "true") -}}
{{- $https = include "countersign.publicAddresses" . | fromYamlArray -}}
{{- end -}}
{{- $rules = append $rules (dict "ports" $egress.https.ports "to" $https) -}}
{{- range $rules }}
- ports:
    {{- $protocols := .protocols | default (list "TCP") }}
    {{- range $port := .ports }}
    {{- range $protocols }}
    - port: {{ $port }}
      protocol: {{ . }}
    {{- end }}
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The server refuses private addresses too. This policy holds if that check fails. */}}
{{- define "countersign.publicAddresses" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
      - 10.0.0.0/8
      - 100.64.0.0/10
      - 127.0.0.0/8
      - 169.254.0.0/16
      - 172.16.0.0/12
      - 192.168.0.0/16
- ipBlock:
    cidr: ::/0
    except:
      - ::1/128
      - fc00::/7
      - fe80::/10
{{- end -}}
