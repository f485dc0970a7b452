{{/*
What the chart is made of: nine components, from five binaries. Which systems and which other components each of them reaches is read off
the settings that its binary has (files/settings.yaml, which is generated), so that pods, network policies and checks agree.
*/}}
{{- define "mneme.kinds" -}}
gateway: {binary: gateway, serves: true}
utilizer: {binary: utilizer, serves: true}
reranker: {binary: reranker, serves: true}
saliency-filter:
  binary: saliency-filter
  lag: {topic: mneme.session-events, setting: MNEME_FILTER_GROUP, group: mneme-saliency-filter}
booster-intake:
  binary: booster
  role: intake
  lag: {topic: mneme.salient-turns, setting: MNEME_BOOSTER_GROUP, group: mneme-booster}
booster-attribution:
  binary: booster
  role: attribution
  lag: {topic: mneme.salient-turns, setting: MNEME_BOOSTER_GROUP, group: mneme-booster, suffix: -attribution}
booster-workflow:
  binary: booster
  role: workflow
  backlog: {queue: mneme-consolidation, types: workflow}
booster-model:
  binary: booster
  role: model
  backlog: {queue: mneme-model, types: activity}
booster-store:
  binary: booster
  role: store
  backlog: {queue: mneme-store, types: activity}
{{- end -}}

{{/* Values laid over others, deeply. Unlike Sprig's merge, false, 0 and "" lie over, too, and null takes out. */}}
{{- define "mneme.merge" -}}
{{- $out := deepCopy (index . 0) -}}
{{- range $k, $v := index . 1 -}}
{{- if kindIs "map" $v -}}
{{- $_ := set $out $k (include "mneme.merge" (list (kindIs "map" (index $out $k) | ternary (index $out $k) dict) $v) | fromYaml) -}}
{{- else if kindIs "invalid" $v -}}
{{- $_ := unset $out $k -}}
{{- else -}}
{{- $_ := set $out $k $v -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* The components that run, by name: the defaults, the component's own values, and what it is. */}}
{{- define "mneme.components" -}}
{{- $kinds := include "mneme.kinds" . | fromYaml -}}
{{- $out := dict -}}
{{- range $name, $kind := $kinds -}}
{{- $own := index $.Values.components $name | default dict -}}
{{- $c := include "mneme.component" (dict "root" $ "name" $name "kind" $kind "own" $own) | fromYaml -}}
{{- if $c.enabled -}}{{- $_ := set $out $name $c -}}{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{- define "mneme.component" -}}
{{- $c := include "mneme.merge" (list (include "mneme.merge" (list dict .root.Values.defaults) | fromYaml) .own) | fromYaml -}}
{{- /* A variable is taken as a whole: of two sources one would be too many. */ -}}
{{- range $k, $v := dig "extraEnv" dict (.own | default dict) -}}{{- $_ := set $c.extraEnv $k $v -}}{{- end -}}
{{- $_ := set $c "name" .name -}}
{{- range $k, $v := .kind -}}{{- $_ := set $c $k $v -}}{{- end -}}
{{- $known := index (include "mneme.known" .root | fromYaml).binaries (.kind.reads | default .kind.binary) -}}
{{- $needs := list -}}
{{- range $need, $setting := dict "kafka" "MNEME_KAFKA_BROKERS" "redis" "MNEME_REDIS_ADDRS" "temporal" "MNEME_TEMPORAL_ADDR" "weaviate" "MNEME_WEAVIATE_HTTP" -}}
{{- if has $setting $known -}}{{- $needs = append $needs $need -}}{{- end -}}
{{- end -}}
{{- /* Every booster embeds when it starts, but only the role model asks models for more; the filter and the migration embed nothing and all. */ -}}
{{- $embeds := and (has "MNEME_EMBEDDING" $known) (eq .root.Values.embedding.kind "endpoint") -}}
{{- $asks := and (has "MNEME_LLM_BASE_URL" $known) (or (not .kind.role) (eq (default "" .kind.role) "model")) (ne .kind.binary "mneme") -}}
{{- if and .root.Values.model.baseUrl (or $embeds $asks) -}}{{- $needs = append $needs "model" -}}{{- end -}}
{{- if and .root.Values.telemetry.endpoint (has "OTEL_EXPORTER_OTLP_ENDPOINT" $known) -}}{{- $needs = append $needs "collector" -}}{{- end -}}
{{- if has "MNEME_WEBHOOK_PRIVATE_ADDRESSES" $known -}}{{- $needs = append $needs "webhooks" -}}{{- end -}}
{{- $_ := set $c "needs" (sortAlpha $needs) -}}
{{- $calls := list -}}
{{- if has "MNEME_UTILIZER_URL" $known -}}{{- $calls = append $calls "utilizer" -}}{{- end -}}
{{- if has "MNEME_RERANKER_URL" $known -}}{{- $calls = append $calls "reranker" -}}{{- end -}}
{{- $_ := set $c "calls" $calls -}}
{{- toYaml $c -}}
{{- end -}}

{{/* What files/settings.yaml says. */}}
{{- define "mneme.known" -}}
{{- .Files.Get "files/settings.yaml" -}}
{{- end -}}

{{/* Settings that values of the chart stand for: the setting, the value's path, and what is set. */}}
{{- define "mneme.owned" -}}
{{- $v := .Values -}}
{{- $retention := list -}}
{{- range $topic, $for := $v.kafka.retention -}}{{- $retention = append $retention (printf "%s:%s" $topic $for) -}}{{- end -}}
{{- $files := eq (include "mneme.tenantsSecret" .) "" -}}
MNEME_HTTP_ADDR: {path: "", value: ":8080"}
MNEME_METRICS_ADDR: {path: "", value: ":9090"}
MNEME_BOOSTER_ROLES: {path: components, value: ""}
MNEME_DRAIN_DELAY: {path: drain.delaySeconds, value: "{{ int $v.drain.delaySeconds }}s"}
MNEME_SHUTDOWN_TIMEOUT: {path: drain.stageSeconds, value: "{{ int $v.drain.stageSeconds }}s"}
MNEME_KAFKA_BROKERS: {path: kafka.brokers, value: {{ join "," $v.kafka.brokers | quote }}}
MNEME_KAFKA_TLS: {path: kafka.tls, value: {{ $v.kafka.tls | toString | quote }}}
MNEME_KAFKA_SASL: {path: kafka.sasl.mechanism, value: {{ if $v.kafka.sasl.user }}{{ $v.kafka.sasl.mechanism | quote }}{{ else }}""{{ end }}}
MNEME_KAFKA_USER: {path: kafka.sasl.user, value: {{ $v.kafka.sasl.user | quote }}}
MNEME_KAFKA_PARTITIONS: {path: kafka.partitions, value: {{ int $v.kafka.partitions | quote }}}
MNEME_KAFKA_REPLICAS: {path: kafka.replicas, value: {{ int $v.kafka.replicas | quote }}}
MNEME_KAFKA_MIN_INSYNC_REPLICAS: {path: kafka.minInSyncReplicas, value: {{ int $v.kafka.minInSyncReplicas | quote }}}
MNEME_KAFKA_RETENTION: {path: kafka.retention, value: {{ join "," $retention | quote }}}
MNEME_REDIS_ADDRS: {path: redis.addresses, value: {{ join "," $v.redis.addresses | quote }}}
MNEME_REDIS_TLS: {path: redis.tls, value: {{ $v.redis.tls | toString | quote }}}
MNEME_REDIS_USER: {path: redis.user, value: {{ $v.redis.user | quote }}}
MNEME_REDIS_SENTINEL_MASTER: {path: redis.sentinel.master, value: {{ $v.redis.sentinel.master | quote }}}
MNEME_REDIS_SENTINEL_USER: {path: redis.sentinel.user, value: {{ $v.redis.sentinel.user | quote }}}
MNEME_REDIS_DB: {path: redis.db, value: {{ int $v.redis.db | quote }}}
MNEME_TEMPORAL_ADDR: {path: temporal.address, value: {{ $v.temporal.address | quote }}}
MNEME_TEMPORAL_NAMESPACE: {path: temporal.namespace, value: {{ $v.temporal.namespace | quote }}}
MNEME_TEMPORAL_TLS: {path: temporal.tls.enabled, value: {{ $v.temporal.tls.enabled | toString | quote }}}
MNEME_TEMPORAL_TLS_CERT: {path: temporal.tls.existingSecret, value: {{ ternary "/etc/mneme/temporal/tls.crt" "" (ne $v.temporal.tls.existingSecret "") | quote }}}
MNEME_TEMPORAL_TLS_KEY: {path: temporal.tls.existingSecret, value: {{ ternary "/etc/mneme/temporal/tls.key" "" (ne $v.temporal.tls.existingSecret "") | quote }}}
MNEME_WEAVIATE_HTTP: {path: weaviate.http, value: {{ $v.weaviate.http | quote }}}
MNEME_WEAVIATE_GRPC: {path: weaviate.grpc, value: {{ $v.weaviate.grpc | quote }}}
MNEME_WEAVIATE_TLS: {path: weaviate.tls, value: {{ $v.weaviate.tls | toString | quote }}}
MNEME_WEAVIATE_REPLICAS: {path: weaviate.replicas, value: {{ int $v.weaviate.replicas | quote }}}
MNEME_WEAVIATE_PREFIX: {path: weaviate.prefix, value: {{ $v.weaviate.prefix | quote }}}
MNEME_LLM_BASE_URL: {path: model.baseUrl, value: {{ $v.model.baseUrl | quote }}}
MNEME_LLM_MODEL: {path: model.name, value: {{ $v.model.name | quote }}}
MNEME_LLM_MODEL_EMBEDDING: {path: embedding.model, value: {{ $v.embedding.model | quote }}}
MNEME_EMBEDDING: {path: embedding.kind, value: {{ $v.embedding.kind | quote }}}
MNEME_TENANTS_FILE: {path: tenants, value: {{ ternary "-" "/etc/mneme/tenants/tenants.yaml" $files | quote }}}
MNEME_TENANTS_DIRECTORY: {path: tenants.directory, value: {{ $v.tenants.directory | toString | quote }}}
MNEME_UTILIZER_URL: {path: "", value: "http://{{ include "mneme.fullname" . }}-utilizer:8080"}
MNEME_RERANKER_URL: {path: "", value: "http://{{ include "mneme.fullname" . }}-reranker:8080"}
MNEME_WEBHOOK_PRIVATE_ADDRESSES: {path: webhooks.privateAddresses, value: {{ $v.webhooks.privateAddresses | toString | quote }}}
MNEME_GATEWAY_ORIGINS: {path: origins, value: {{ join "," $v.origins | quote }}}
OTEL_EXPORTER_OTLP_ENDPOINT: {path: telemetry.endpoint, value: {{ $v.telemetry.endpoint | quote }}}
MNEME_TELEMETRY_SAMPLE_RATIO: {path: telemetry.sampleRatio, value: {{ $v.telemetry.sampleRatio | toString | quote }}}
MNEME_LOG_LEVEL: {path: telemetry.logLevel, value: {{ $v.telemetry.logLevel | quote }}}
{{- if include "mneme.ca" . }}
SSL_CERT_DIR: {path: certificateAuthorities, value: ""}
{{- end }}
{{- end -}}

{{/* Secrets that settings come from: the setting, the path of the values, and where it is. */}}
{{- define "mneme.secrets" -}}
{{- $v := .Values -}}
MNEME_KAFKA_PASSWORD: {path: kafka.sasl, name: {{ $v.kafka.sasl.existingSecret | quote }}, key: {{ $v.kafka.sasl.passwordKey | quote }}}
MNEME_REDIS_PASSWORD: {path: redis.auth, name: {{ $v.redis.auth.existingSecret | quote }}, key: {{ $v.redis.auth.passwordKey | quote }}}
MNEME_REDIS_SENTINEL_PASSWORD: {path: redis.sentinel.auth, name: {{ $v.redis.sentinel.auth.existingSecret | quote }}, key: {{ $v.redis.sentinel.auth.passwordKey | quote }}}
MNEME_TEMPORAL_API_KEY: {path: temporal.apiKey, name: {{ $v.temporal.apiKey.existingSecret | quote }}, key: {{ $v.temporal.apiKey.key | quote }}}
MNEME_WEAVIATE_API_KEY: {path: weaviate.apiKey, name: {{ $v.weaviate.apiKey.existingSecret | quote }}, key: {{ $v.weaviate.apiKey.key | quote }}}
MNEME_LLM_API_KEY: {path: model.apiKey, name: {{ $v.model.apiKey.existingSecret | quote }}, key: {{ $v.model.apiKey.key | quote }}}
MNEME_INTERNAL_SECRET: {path: internalSecret, name: {{ $v.internalSecret.existingSecret | default (printf "%s-internal" (include "mneme.fullname" .)) | quote }}, key: {{ $v.internalSecret.key | quote }}}
OTEL_EXPORTER_OTLP_HEADERS: {path: telemetry.headers, name: {{ $v.telemetry.headers.existingSecret | quote }}, key: {{ $v.telemetry.headers.key | quote }}}
{{- end -}}

{{/* The plain settings of a component, for its ConfigMap. Give root and c. */}}
{{- define "mneme.config" -}}
{{- $known := index (include "mneme.known" .root | fromYaml).binaries (.c.reads | default .c.binary) -}}
{{- $out := dict -}}
{{- range $name, $o := include "mneme.owned" .root | fromYaml -}}
{{- if and (has $name $known) (ne $o.value "") -}}{{- $_ := set $out $name $o.value -}}{{- end -}}
{{- end -}}
{{- if .c.role -}}{{- $_ := set $out "MNEME_BOOSTER_ROLES" .c.role -}}{{- end -}}
{{- if include "mneme.ca" .root -}}{{- $_ := set $out "SSL_CERT_DIR" "/etc/ssl/certs:/etc/mneme/ca" -}}{{- end -}}
{{- range $name, $value := include "mneme.extraEnv" . | fromYaml -}}
{{- if not (kindIs "map" $value) -}}{{- $_ := set $out $name (include "mneme.text" $value) -}}{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* A value as a program reads it: large numbers without an exponent. */}}
{{- define "mneme.text" -}}
{{- if and (kindIs "float64" .) (eq (float64 (int64 .)) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* Whether a variable is a setting, which is known or wrong. OpenTelemetry's libraries read that one by themselves. */}}
{{- define "mneme.isSetting" -}}
{{- if and (regexMatch "^(MNEME|OTEL)_" .) (ne . "OTEL_RESOURCE_ATTRIBUTES") }}yes{{ end -}}
{{- end -}}

{{/* The further variables of a component, those of all, then its own: what its binary knows, or is no setting. Null takes out. */}}
{{- define "mneme.extraEnv" -}}
{{- $known := index (include "mneme.known" .root | fromYaml).binaries (.c.reads | default .c.binary) -}}
{{- $out := dict -}}
{{- range list .root.Values.extraEnv .c.extraEnv -}}
{{- range $name, $value := . -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $out $name -}}
{{- else if or (has $name $known) (not (include "mneme.isSetting" $name)) -}}
{{- $_ := set $out $name $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* The variables of a container that come from elsewhere than its ConfigMap. */}}
{{- define "mneme.env" -}}
{{- $known := index (include "mneme.known" .root | fromYaml).binaries (.c.reads | default .c.binary) -}}
{{- $out := list -}}
{{- range $name, $s := include "mneme.secrets" .root | fromYaml -}}
{{- if and (has $name $known) $s.name -}}
{{- $out = append $out (dict "name" $name "valueFrom" (dict "secretKeyRef" (dict "name" $s.name "key" $s.key))) -}}
{{- end -}}
{{- end -}}
{{- $extra := include "mneme.extraEnv" . | fromYaml -}}
{{- range $name, $value := $extra -}}
{{- if kindIs "map" $value -}}{{- $out = append $out (dict "name" $name "valueFrom" $value) -}}{{- end -}}
{{- end -}}
{{- if and (dig "limits" "memory" "" (.c.resources | default dict)) (not (hasKey $extra "GOMEMLIMIT")) -}}
{{- /* The collector works harder before the limit is reached instead of being killed there. */ -}}
{{- $out = append $out (dict "name" "GOMEMLIMIT" "valueFrom" (dict "resourceFieldRef" (dict "containerName" .c.name "resource" "limits.memory"))) -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}
