{{/* Contradictions that values.schema.json cannot express. All are reported together. */}}
{{- define "countersign.refuseProblems" -}}
{{- $problems := list -}}
{{- $values := .Values -}}
{{- $config := $values.config -}}
{{- $variables := .Files.Get "files/variables.yaml" | fromYaml -}}

{{- /* Variables */ -}}
{{- if not $config.BASE_URL -}}
{{- $problems = append $problems "config.BASE_URL is missing: set it to the public address, such as https://id.example.com" -}}
{{- else if not (regexMatch "^https?://[^/?#@]+/?$" (toString $config.BASE_URL)) -}}
{{- $problems = append $problems "config.BASE_URL must be scheme, host and port only, such as https://id.example.com" -}}
{{- end -}}
{{- if and $config.HOST (not (has (toString $config.HOST) (list "0.0.0.0" "::"))) -}}
{{- $problems = append $problems "config.HOST must be 0.0.0.0 or ::, because probes and the Service use the address that Kubernetes gives to a pod" -}}
{{- end -}}
{{- range $key, $variable := $variables.files -}}
{{- if and (hasKey $config $variable.env) (not (and (eq $variable.env "REDIS_URL") (include "countersign.withoutRedis" $))) -}}
{{- $problems = append $problems (printf "config.%s is refused, because values are stored in clear: put it into the Secret under the key %s%s" $variable.env $key (ternary "" ", and add the key to optionalSecrets" $variable.required)) -}}
{{- end -}}
{{- end -}}
{{- range $variables.managed -}}
{{- if hasKey $config .env -}}
{{- $problems = append $problems (printf "config.%s is refused: %s" .env .instead) -}}
{{- end -}}
{{- end -}}
{{- $ours := concat $variables.plain list -}}
{{- range $variables.managed }}{{ $ours = append $ours .env }}{{ end -}}
{{- range $variables.files }}{{ $ours = concat $ours (list .env (printf "%s_FILE" .env)) }}{{ end -}}
{{- range $values.extraEnv -}}
{{- if has .name $ours -}}
{{- $problems = append $problems (printf "extraEnv has %s, which is a variable of Countersign: use config, or the Secret if it is secret" .name) -}}
{{- end -}}
{{- end -}}

{{- if and $config.KAFKA_BROKERS (not (regexMatch "^[^,]+:[0-9]+ *(, *[^,]+:[0-9]+ *)*$" (toString $config.KAFKA_BROKERS))) -}}
{{- $problems = append $problems "config.KAFKA_BROKERS must list the brokers as host:port, with commas between" -}}
{{- end -}}

{{- /* Secrets */ -}}
{{- $withoutName := list -}}
{{- range $key, $source := include "countersign.secretKeys" . | fromYaml -}}
{{- if not $source.secret }}{{ $withoutName = append $withoutName $key }}{{ end -}}
{{- end -}}
{{- if $withoutName -}}
{{- $problems = append $problems (printf "existingSecret is missing: create a Secret with the keys %s, and give its name" (join ", " $withoutName)) -}}
{{- end -}}

{{- /* One process without Redis */ -}}
{{- $fewest := $values.serve.replicas -}}
{{- $most := $values.serve.replicas -}}
{{- if $values.serve.autoscaling.enabled -}}
{{- $fewest = $values.serve.autoscaling.minReplicas -}}
{{- $most = $values.serve.autoscaling.maxReplicas -}}
{{- end -}}
{{- if include "countersign.withoutRedis" . -}}
{{- $ways := list -}}
{{- if gt (int $most) 1 }}{{ $ways = append $ways "serve.replicas: 1 and no autoscaling" }}{{ end -}}
{{- if $values.worker.enabled }}{{ $ways = append $ways "worker.enabled: false" }}{{ end -}}
{{- if gt (int ($config.WEB_CONCURRENCY | default 1)) 1 }}{{ $ways = append $ways "config.WEB_CONCURRENCY: 1" }}{{ end -}}
{{- if $ways -}}
{{- $problems = append $problems (printf "config.REDIS_URL=memory:// serves a single process: set %s, or use a Redis" (join ", " $ways)) -}}
{{- end -}}
{{- end -}}

{{- /* Scaling */ -}}
{{- with $values.serve.autoscaling -}}
{{- if .enabled -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- $problems = append $problems "serve.autoscaling.minReplicas is above maxReplicas" -}}
{{- end -}}
{{- if not (dig "requests" "cpu" "" $values.serve.resources) -}}
{{- $problems = append $problems "serve.autoscaling needs serve.resources.requests.cpu: its target is a percentage of it" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $budgets := list (dict "path" "serve" "budget" $values.serve.podDisruptionBudget "replicas" $fewest) -}}
{{- if $values.worker.enabled -}}
{{- $budgets = append $budgets (dict "path" "worker" "budget" $values.worker.podDisruptionBudget "replicas" $values.worker.replicas) -}}
{{- end -}}
{{- range $budgets -}}
{{- if and .budget.enabled (include "countersign.budgetBlocks" .) -}}
{{- $problems = append $problems (printf "%s.podDisruptionBudget allows no pod of %d to be moved, so that no node could be drained: use maxUnavailable: 1" .path (int .replicas)) -}}
{{- end -}}
{{- end -}}

{{- /* Exposure */ -}}
{{- if and $values.ingress.enabled (not (hasKey (include "countersign.secretKeys" . | fromYaml) "metrics-token")) -}}
{{- $problems = append $problems "ingress.enabled would publish /metrics without authentication: add metrics-token to the Secret and to optionalSecrets" -}}
{{- end -}}

{{- if $problems -}}
{{- fail (printf "\n\nThe values have %s:\n  - %s\n" (ternary "a problem" (printf "%d problems" (len $problems)) (eq (len $problems) 1)) (join "\n  - " $problems)) -}}
{{- end -}}
{{- end -}}

{{/* "true" when not a single pod may be evicted. Kubernetes rounds percentages up. */}}
{{- define "countersign.budgetBlocks" -}}
{{- $minAvailable := toString .budget.minAvailable -}}
{{- $allowed := 1 -}}
{{- if ne $minAvailable "" -}}
{{- $allowed = sub .replicas (include "countersign.podCount" (dict "amount" $minAvailable "replicas" .replicas) | int) -}}
{{- else -}}
{{- $allowed = include "countersign.podCount" (dict "amount" (toString .budget.maxUnavailable) "replicas" .replicas) | int -}}
{{- end -}}
{{- if le (int $allowed) 0 }}true{{ end -}}
{{- end -}}

{{- define "countersign.podCount" -}}
{{- if hasSuffix "%" .amount -}}
{{- div (add (mul (trimSuffix "%" .amount | int) (int .replicas)) 99) 100 -}}
{{- else -}}
{{- int .amount -}}
{{- end -}}
{{- end -}}
