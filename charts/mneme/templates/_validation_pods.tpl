{{/* What runs: the components, and the jobs as components. */}}
{{- define "mneme.running" -}}
{{- $running := include "mneme.components" . | fromYaml }}
{{- if .Values.migration.enabled }}{{ $_ := set $running "migrate" (include "mneme.job" (dict "root" . "name" "migrate" "reads" "mneme" "own" .Values.migration.pod) | fromYaml) }}{{ end }}
{{- if .Values.test.enabled }}{{ $_ := set $running "test" (set (include "mneme.job" (dict "root" . "name" "test" "reads" "nothing" "own" .Values.test.pod) | fromYaml) "calls" (list "gateway")) }}{{ end }}
{{- toYaml $running -}}
{{- end -}}

{{/* Further variables: no settings, or those that values stand for. */}}
{{- define "mneme.wrong.settings" -}}
{{- $wrong := list }}
{{- $known := include "mneme.known" . | fromYaml }}
{{- $owned := include "mneme.owned" . | fromYaml }}
{{- $secrets := include "mneme.secrets" . | fromYaml }}
{{- $all := list }}
{{- range $known.binaries }}{{ $all = concat $all . | uniq }}{{ end }}
{{- $places := list (dict "path" "extraEnv" "env" .Values.extraEnv "known" $all) }}
{{- $places = append $places (dict "path" "defaults.extraEnv" "env" .Values.defaults.extraEnv "known" $all) }}
{{- $places = append $places (dict "path" "migration.pod.extraEnv" "env" .Values.migration.pod.extraEnv "known" $known.binaries.mneme) }}
{{- $places = append $places (dict "path" "test.pod.extraEnv" "env" .Values.test.pod.extraEnv "known" list) }}
{{- range $name, $own := .Values.components }}
{{- $places = append $places (dict "path" (printf "components.%s.extraEnv" $name) "env" $own.extraEnv "known" (index $known.binaries (index (include "mneme.kinds" $ | fromYaml) $name).binary)) }}
{{- end }}
{{- range $place := $places }}
{{- range $setting, $value := $place.env }}
{{- if hasKey $owned $setting }}
{{- $path := (index $owned $setting).path }}
{{- $wrong = append $wrong (printf "%s.%s: %s" $place.path $setting (ternary (printf "is set by the value %s" $path) "is the chart's own to set" (ne $path ""))) }}
{{- else if hasKey $secrets $setting }}
{{- $wrong = append $wrong (printf "%s.%s: is a secret, and set by the value %s" $place.path $setting (index $secrets $setting).path) }}
{{- else if and (include "mneme.isSetting" $setting) (not (has $setting $place.known)) (not (kindIs "invalid" $value)) }}
{{- $wrong = append $wrong (printf "%s.%s: there is no such setting (docs/configuration.md)" $place.path $setting) }}
{{- else if and (eq $setting "GOMEMLIMIT") (not (kindIs "map" $value)) (not (kindIs "invalid" $value)) (not (regexMatch "^(off|[0-9]+(B|[KMGT]iB)?)$" (include "mneme.text" $value))) }}
{{- $wrong = append $wrong (printf "%s.GOMEMLIMIT: is %s, want a number of bytes or such as 400MiB: programs would end at once" $place.path (include "mneme.text" $value)) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}

{{/* Names and labels that objects cannot have, or that are taken. */}}
{{- define "mneme.wrong.names" -}}
{{- $wrong := list }}
{{- $fullname := include "mneme.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $fullname) }}
{{- $wrong = append $wrong (printf "fullnameOverride: names would begin with %q, as the release's does, want a letter first, then letters, digits and '-'" $fullname) }}
{{- end }}
{{- $selecting := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
{{- $labelling := concat $selecting (list "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart") }}
{{- $taken := list (dict "path" "commonLabels" "keys" .Values.commonLabels "own" $labelling) }}
{{- $pods := dict "defaults" .Values.defaults "migration.pod" .Values.migration.pod "test.pod" .Values.test.pod }}
{{- range $name, $own := .Values.components }}{{ $_ := set $pods (printf "components.%s" $name) $own }}{{ end }}
{{- range $path, $pod := $pods }}
{{- $taken = append $taken (dict "path" (printf "%s.podLabels" $path) "keys" $pod.podLabels "own" $selecting) }}
{{- $taken = append $taken (dict "path" (printf "%s.podAnnotations" $path) "keys" $pod.podAnnotations "own" (list "checksum/config")) }}
{{- range $volume := $pod.extraVolumes }}
{{- if has $volume.name (list "tmp" "tenants" "authorities" "temporal") }}
{{- $wrong = append $wrong (printf "%s.extraVolumes: %s is the chart's own name" $path $volume.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $place := $taken }}
{{- range $key, $_ := $place.keys }}
{{- if has $key $place.own }}
{{- $wrong = append $wrong (printf "%s.%s: is the chart's own to set" $place.path $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.defaults.image }}
{{- $wrong = append $wrong "defaults.image: would be the one image of six programs: give components.NAME.image, or image.repository and image.tag" }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}

{{/* Numbers of replicas, how they change, and how they end. */}}
{{- define "mneme.wrong.scaling" -}}
{{- $wrong := list }}
{{- $components := include "mneme.components" . | fromYaml }}
{{- $drain := include "mneme.drain" . | int }}
{{- range $name, $c := $components }}
{{- $grace := include "mneme.grace" (dict "root" $ "c" $c) | int }}
{{- if le $grace $drain }}
{{- $wrong = append $wrong (printf "components.%s.terminationGracePeriodSeconds: is %d, want more than the %d that drain may take" $name $grace $drain) }}
{{- end }}
{{- with $c.strategy }}
{{- $none := list "0" "0%" }}
{{- $r := .rollingUpdate | default dict }}
{{- if and (eq .type "RollingUpdate") (has (toString $r.maxSurge) $none) (has (toString $r.maxUnavailable) $none) }}
{{- $wrong = append $wrong (printf "components.%s.strategy.rollingUpdate: maxSurge and maxUnavailable are both 0: no pod could be replaced" $name) }}
{{- end }}
{{- end }}
{{- $a := $c.autoscaling }}
{{- if and (eq $a.kind "keda") (not $c.lag) (not $c.backlog) }}
{{- $wrong = append $wrong (printf "components.%s.autoscaling.kind: is keda, which scales by a queue; %s has none: hpa scales it" $name $name) }}
{{- end }}
{{- if and (eq $a.kind "hpa") (not (dig "requests" "cpu" "" ($c.resources | default dict))) (not (dig "limits" "cpu" "" ($c.resources | default dict))) }}
{{- $wrong = append $wrong (printf "components.%s.resources.requests.cpu: is empty, and hpa scales by a share of it" $name) }}
{{- end }}
{{- if and (ne $a.kind "none") (lt (int $a.maxReplicas) (int $a.minReplicas)) }}
{{- $wrong = append $wrong (printf "components.%s.autoscaling.maxReplicas: is %d, want %d (minReplicas) or more" $name (int $a.maxReplicas) (int $a.minReplicas)) }}
{{- end }}
{{- $most := ternary (int $c.replicas) (int $a.maxReplicas) (eq $a.kind "none") }}
{{- if and $c.lag (gt $most (int $.Values.kafka.partitions)) }}
{{- $wrong = append $wrong (printf "components.%s: %d replicas, and kafka.partitions is %d: what is beyond would have nothing to read" $name $most (int $.Values.kafka.partitions)) }}
{{- end }}
{{- end }}
{{- if and (include "mneme.scales" (dict "root" . "by" "backlog")) .Values.temporal.tls.enabled (not .Values.temporal.apiKey.existingSecret) (not .Values.temporal.tls.existingSecret) }}
{{- $wrong = append $wrong "temporal: KEDA asks Temporal over TLS only with apiKey or a certificate (temporal.tls.existingSecret)" }}
{{- end }}
{{- if and (include "mneme.scales" (dict "root" . "by" "lag")) .Values.kafka.sasl.user (not (hasKey $components "saliency-filter")) }}
{{- $wrong = append $wrong "components.saliency-filter.enabled: KEDA reads Kafka's user from its ConfigMap" }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}

{{/* A quantity of Kubernetes, such as 1.5Gi, as a number. */}}
{{- define "mneme.amount" -}}
{{- $units := dict "" 1 "n" 1e-9 "u" 1e-6 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 -}}
{{- $binary := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $text := include "mneme.text" . | trimPrefix "+" -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- mulf (trimSuffix $unit $text | float64) (index (merge $units $binary) $unit) -}}
{{- end -}}

{{/* Requests beyond limits. */}}
{{- define "mneme.wrong.resources" -}}
{{- $wrong := list }}
{{- $running := include "mneme.running" . | fromYaml }}
{{- $paths := dict "migrate" "migration.pod" "test" "test.pod" }}
{{- range $name, $c := $running }}
{{- $path := dig $name (printf "components.%s" $name) $paths }}
{{- $resources := $c.resources | default dict }}
{{- range $resource, $limit := $resources.limits }}
{{- $request := dig "requests" $resource 0 $resources }}
{{- if gt (include "mneme.amount" $request | float64) (include "mneme.amount" $limit | float64) }}
{{- $wrong = append $wrong (printf "%s.resources.requests.%s: is %v, more than the limit, %v" $path $resource $request $limit) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}

{{/* Calls inside the cluster that would go by a proxy. */}}
{{- define "mneme.wrong.proxies" -}}
{{- $wrong := list }}
{{- $running := include "mneme.running" . | fromYaml }}
{{- $fullname := include "mneme.fullname" . }}
{{- $astray := dict }}
{{- range $name, $c := $running }}
{{- /* gRPC goes by HTTPS_PROXY, with TLS or without. A name without a dot is of the cluster, where no proxy finds it. */}}
{{- $env := include "mneme.extraEnv" (dict "root" $ "c" $c) | fromYaml }}
{{- $except := coalesce $env.NO_PROXY $env.no_proxy }}
{{- $direct := splitList "," (ternary "*" (toString ($except | default "") | nospace) (kindIs "map" $except)) }}
{{- range $proxy := list "HTTP_PROXY" "HTTPS_PROXY" }}
{{- if or (index $env $proxy) (index $env (lower $proxy)) }}
{{- $secure := eq $proxy "HTTPS_PROXY" }}
{{- $reached := list }}
{{- if not $secure }}{{ range $c.calls }}{{ $reached = append $reached (printf "%s-%s" $fullname .) }}{{ end }}{{ end }}
{{- if and $secure (has "temporal" $c.needs) }}{{ $reached = append $reached $.Values.temporal.address }}{{ end }}
{{- if has "weaviate" $c.needs }}
{{- if $secure }}{{ $reached = append $reached $.Values.weaviate.grpc }}{{ end }}
{{- if eq $secure $.Values.weaviate.tls }}{{ $reached = append $reached $.Values.weaviate.http }}{{ end }}
{{- end }}
{{- range $need, $url := dict "collector" $.Values.telemetry.endpoint "model" $.Values.model.baseUrl }}
{{- if and (has $need $c.needs) (eq $secure (hasPrefix "https:" $url)) }}{{ $reached = append $reached (urlParse $url).host }}{{ end }}
{{- end }}
{{- range $reached }}
{{- $host := regexReplaceAll ":[0-9]+$" . "" }}
{{- if not (or (contains "." $host) (contains ":" $host) (has "*" $direct) (has $host $direct) (has . $direct)) }}
{{- $_ := set $astray $host $proxy }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- with $astray }}
{{- $wrong = append $wrong (printf "extraEnv.NO_PROXY: lacks %s: calls to them would go by %s" (keys . | sortAlpha | join ", ") (values . | uniq | sortAlpha | join " and ")) }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}

{{/* Components that others need. */}}
{{- define "mneme.wrong.components" -}}
{{- $wrong := list }}
{{- $components := include "mneme.components" . | fromYaml }}
{{- $erases := list }}
{{- range $name, $c := $components }}{{ if eq $c.binary "booster" }}{{ $erases = append $erases $name }}{{ end }}{{ end }}
{{- if and $erases (not (hasKey $components "booster-attribution")) }}
{{- $wrong = append $wrong (printf "components.booster-attribution.enabled: is false, and erasures by %s would wait for it for ever" (join ", " $erases)) }}
{{- end }}
{{- if hasKey $components "gateway" }}
{{- range $name := list "utilizer" "reranker" }}
{{- if not (hasKey $components $name) }}
{{- $wrong = append $wrong (printf "components.%s.enabled: is false, and the gateway needs it" $name) }}
{{- end }}
{{- end }}
{{- else }}
{{- range $name, $leads := dict "ingress" .Values.ingress.enabled "httpRoute" .Values.httpRoute.enabled "test" .Values.test.enabled }}
{{- if $leads }}
{{- $wrong = append $wrong (printf "%s.enabled: is true, and components.gateway.enabled is false" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $wrong -}}
{{- end -}}
