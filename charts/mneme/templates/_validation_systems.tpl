{{/* A duration as Go writes it, such as 1h30m, in seconds. */}}
{{- define "mneme.seconds" -}}
{{- $units := dict "h" 3600 "m" 60 "s" 1 "ms" 0.001 "us" 1e-6 "ns" 1e-9 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+[a-z]+" . -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) (index $units $unit)) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{/* What is said of Kafka, Redis, Temporal, Weaviate and models. */}}
{{- define "mneme.wrong.systems" -}}
{{- $wrong := list }}
{{- if and (gt (int .Values.redis.db) 0) (gt (len .Values.redis.addresses) 1) (not .Values.redis.sentinel.master) }}
{{- $wrong = append $wrong (printf "redis.db: is %d, and several addresses without sentinel.master are a cluster, which has 0 alone" (int .Values.redis.db)) }}
{{- end }}
{{- if ne (empty .Values.kafka.sasl.user) (empty .Values.kafka.sasl.existingSecret) }}
{{- $wrong = append $wrong "kafka.sasl: user and existingSecret go together" }}
{{- end }}
{{- $sentinel := .Values.redis.sentinel }}
{{- if and (or $sentinel.user $sentinel.auth.existingSecret) (not $sentinel.master) }}
{{- $wrong = append $wrong "redis.sentinel.master: is empty, and a user or a secret of Sentinels needs it" }}
{{- end }}
{{- if and $sentinel.master .Values.networkPolicy.enabled (empty .Values.networkPolicy.ports.redis) (empty .Values.networkPolicy.extraEgress) }}
{{- $wrong = append $wrong "networkPolicy.ports.redis: is empty, want the port of the servers that Sentinels name (mostly 6379): pods could not reach it" }}
{{- end }}
{{- if and (gt (int .Values.kafka.replicas) 0) (gt (int .Values.kafka.minInSyncReplicas) (int .Values.kafka.replicas)) }}
{{- $wrong = append $wrong (printf "kafka.minInSyncReplicas: is %d, want no more than kafka.replicas" (int .Values.kafka.minInSyncReplicas)) }}
{{- end }}
{{- if and (or .Values.temporal.apiKey.existingSecret .Values.temporal.tls.existingSecret) (not .Values.temporal.tls.enabled) }}
{{- $wrong = append $wrong "temporal.tls.enabled: is false, and an API key or a certificate needs TLS" }}
{{- end }}
{{- if and .Values.certificateAuthorities.existingSecret .Values.certificateAuthorities.existingConfigMap }}
{{- $wrong = append $wrong "certificateAuthorities: existingSecret and existingConfigMap are both given, and one is mounted: leave one out" }}
{{- end }}
{{- with .Values.migration }}
{{- if and .enabled (not (has "temporal" .skip)) (lt (include "mneme.seconds" .temporalRetention | float64) 86400.0) }}
{{- $wrong = append $wrong (printf "migration.temporalRetention: is %s, want 24h or more" .temporalRetention) }}
{{- end }}
{{- end }}
{{- if and (eq .Values.embedding.kind "endpoint") (or (not .Values.embedding.model) (not .Values.model.baseUrl)) }}
{{- $wrong = append $wrong "embedding.kind: is endpoint, which needs embedding.model and model.baseUrl" }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}

{{/* Tenants that services would not take. */}}
{{- define "mneme.wrong.tenants" -}}
{{- $wrong := list }}
{{- if and (not .Values.tenants.directory) (not (include "mneme.tenantsSecret" .)) }}
{{- $wrong = append $wrong "tenants: directory, existingSecret or list is needed" }}
{{- end }}
{{- if and .Values.tenants.existingSecret .Values.tenants.list }}
{{- $wrong = append $wrong "tenants: existingSecret and list are both given, and there is one file: leave one out" }}
{{- end }}
{{- /* Keys are never shown: one that is wrong may be one that was not hashed. */}}
{{- $ids := dict }}
{{- $keys := dict }}
{{- range $i, $t := .Values.tenants.list }}
{{- if hasKey $ids $t.id }}
{{- $wrong = append $wrong (printf "tenants.list[%d].id: is %q, as is that of [%d]" $i $t.id (index $ids $t.id)) }}
{{- end }}
{{- $_ := set $ids $t.id $i }}
{{- $share := toString (default "on" $t.explore) }}
{{- if not (or (has $share (list "on" "off")) (and (regexMatch "^\\+?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$" $share) (le (float64 $share) 1.0))) }}
{{- $wrong = append $wrong (printf "tenants.list[%d].explore: is %s, want on, off or a share from 0 to 1" $i $share) }}
{{- end }}
{{- if and (contains "@" (default "" $t.policy)) (ne (default "salimory" $t.strategy) "salimory") }}
{{- $wrong = append $wrong (printf "tenants.list[%d].policy: is %q, want a trained policy with strategy salimory only" $i $t.policy) }}
{{- end }}
{{- range $k, $key := $t.api_keys }}
{{- $path := printf "tenants.list[%d].api_keys[%d]" $i $k }}
{{- if not (regexMatch "^sha256:[0-9a-fA-F]{64}$" $key) }}
{{- $wrong = append $wrong (printf "%s: is not sha256: and 64 hexadecimal digits, the hash of a key (docs/operations/tenants-and-keys.md)" $path) }}
{{- else if hasKey $keys (lower $key) }}
{{- $wrong = append $wrong (printf "%s: is the same key as %s" $path (index $keys (lower $key))) }}
{{- else if eq (lower $key) (printf "sha256:%s" (sha256sum "")) }}
{{- $wrong = append $wrong (printf "%s: is the hash of an empty key" $path) }}
{{- end }}
{{- $_ := set $keys (lower $key) $path }}
{{- end }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}

{{/* The ways in from outside, and the test that goes through them. */}}
{{- define "mneme.wrong.doors" -}}
{{- $wrong := list }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}
{{- $wrong = append $wrong "ingress.hosts: is empty, and an Ingress without rules is refused" }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- $wrong = append $wrong "httpRoute.parentRefs: is empty, want the Gateway: no other would serve the route" }}
{{- end }}
{{- range $key := list "loadBalancerClass" "loadBalancerSourceRanges" }}
{{- if and (index $.Values.service $key) (ne $.Values.service.type "LoadBalancer") }}
{{- $wrong = append $wrong (printf "service.%s: is given, and service.type is %s, want LoadBalancer" $key $.Values.service.type) }}
{{- end }}
{{- end }}
{{- if and .Values.test.enabled (not .Values.test.existingSecret) }}
{{- $wrong = append $wrong "test.existingSecret: is empty, want a Secret with an API key" }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}
