{{- define "mneme.fullname" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name -}}
{{- if contains .Chart.Name .Release.Name }}{{ $name = .Release.Name }}{{ end -}}
{{- .Values.fullnameOverride | default $name | trunc 40 | trimAll "-" -}}
{{- end -}}

{{- define "mneme.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .name }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "mneme.labels" -}}
{{- $own := dict "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") -}}
{{- toYaml (merge (include "mneme.selector" . | fromYaml) (.podLabels | default dict) $own .root.Values.commonLabels) -}}
{{- end -}}

{{/* metadata of an object. Give root, name (of the component, if any), suffix (of the object), annotations, podLabels (if any). */}}
{{- define "mneme.metadata" -}}
name: {{ include "mneme.fullname" .root }}{{ with .suffix | default .name }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "mneme.labels" . | nindent 2 }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The Secret with tenants.yaml; empty where there is none. */}}
{{- define "mneme.tenantsSecret" -}}
{{- if .Values.tenants.existingSecret -}}
{{- .Values.tenants.existingSecret -}}
{{- else if .Values.tenants.list -}}
{{- include "mneme.fullname" . }}-tenants
{{- end -}}
{{- end -}}

{{/* The volume of further certificate authorities; empty where there are none. */}}
{{- define "mneme.ca" -}}
{{- if .Values.certificateAuthorities.existingSecret -}}
secret: {secretName: {{ .Values.certificateAuthorities.existingSecret | quote }}}
{{- else if .Values.certificateAuthorities.existingConfigMap -}}
configMap: {name: {{ .Values.certificateAuthorities.existingConfigMap | quote }}}
{{- end -}}
{{- end -}}

{{- define "mneme.image" -}}
{{- if .c.image -}}
{{- .c.image -}}
{{- else -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end -}}
{{- .root.Values.image.repository }}/{{ .c.binary }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion -}}
{{- end -}}
{{- end -}}

{{/* Seconds that a pod is given to end: longer than its stages of ending (open requests, background work, closing, telemetry) may take. */}}
{{- define "mneme.drain" -}}
{{- add .Values.drain.preStopSeconds .Values.drain.delaySeconds (mul 4 .Values.drain.stageSeconds) -}}
{{- end -}}
{{- define "mneme.grace" -}}
{{- .c.terminationGracePeriodSeconds | default (add (include "mneme.drain" .root | int) 15) -}}
{{- end -}}

{{/*
The pod of everything: of services, of the migration and of the test. Give root, c, and job where it ends by itself. What c needs beside
its image is said by its settings.
*/}}
{{- define "mneme.pod" -}}
{{- $root := .root -}}
{{- $c := .c -}}
{{- $known := index (include "mneme.known" $root | fromYaml).binaries ($c.reads | default $c.binary) -}}
serviceAccountName: {{ include "mneme.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml $c.podSecurityContext | nindent 2 }}
{{- with $c.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $c.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $c.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $c.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .job }}
{{- /* With OnFailure the last attempt would take its pod, and so its log, with it. */}}
restartPolicy: Never
{{- else }}
terminationGracePeriodSeconds: {{ include "mneme.grace" . }}
{{- with $c.topologySpread }}
topologySpreadConstraints:
  {{- /* A node that is drained counts no more: else what ran in its zone could run nowhere where a zone must not be left out. */}}
  {{- range . }}
  - {{- toYaml (merge (deepCopy .) (dict "nodeTaintsPolicy" "Honor")) | nindent 4 }}
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "mneme.selector" (dict "root" $root "name" $c.name) | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}
containers:
  - name: {{ $c.name }}
    image: {{ include "mneme.image" . | quote }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    securityContext:
      {{- toYaml $c.securityContext | nindent 6 }}
    {{- with .args }}
    args:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if not .job }}
    envFrom:
      - configMapRef: {name: {{ include "mneme.fullname" $root }}-{{ $c.name }}}
    {{- end }}
    {{- $env := include "mneme.env" . | fromYamlArray }}
    {{- if .job }}
    {{- range $name, $value := include "mneme.config" . | fromYaml }}
    {{- $env = append $env (dict "name" $name "value" $value) }}
    {{- end }}
    {{- end }}
    {{- with concat $env (.env | default list) }}
    env:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if not .job }}
    ports:
      - {name: http, containerPort: 8080}
      - {name: metrics, containerPort: 9090}
    startupProbe:
      httpGet: {path: /healthz, port: http}
      {{- toYaml $c.startupProbe | nindent 6 }}
    livenessProbe:
      httpGet: {path: /healthz, port: http}
      {{- toYaml $c.livenessProbe | nindent 6 }}
    readinessProbe:
      httpGet: {path: /readyz, port: http}
      {{- toYaml $c.readinessProbe | nindent 6 }}
    lifecycle:
      preStop:
        sleep: {seconds: {{ int $root.Values.drain.preStopSeconds }}}
    {{- end }}
    resources:
      {{- toYaml $c.resources | nindent 6 }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      {{- if and (has "MNEME_TENANTS_FILE" $known) (include "mneme.tenantsSecret" $root) }}
      - {name: tenants, mountPath: /etc/mneme/tenants, readOnly: true}
      {{- end }}
      {{- if include "mneme.ca" $root }}
      - {name: authorities, mountPath: /etc/mneme/ca, readOnly: true}
      {{- end }}
      {{- if and (has "MNEME_TEMPORAL_TLS_CERT" $known) $root.Values.temporal.tls.existingSecret }}
      - {name: temporal, mountPath: /etc/mneme/temporal, readOnly: true}
      {{- end }}
      {{- with $c.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {sizeLimit: {{ $c.tmpSize }}}
  {{- if and (has "MNEME_TENANTS_FILE" $known) (include "mneme.tenantsSecret" $root) }}
  - name: tenants
    secret:
      secretName: {{ include "mneme.tenantsSecret" $root | quote }}
      items: [{key: {{ $root.Values.tenants.key | quote }}, path: tenants.yaml}]
  {{- end }}
  {{- with include "mneme.ca" $root }}
  - name: authorities
    {{- . | nindent 4 }}
  {{- end }}
  {{- if and (has "MNEME_TEMPORAL_TLS_CERT" $known) $root.Values.temporal.tls.existingSecret }}
  - name: temporal
    secret: {secretName: {{ $root.Values.temporal.tls.existingSecret | quote }}}
  {{- end }}
  {{- with $c.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "mneme.serviceAccount" -}}
{{- .c.serviceAccountName | default (printf "%s-%s" (include "mneme.fullname" .root) .c.name) -}}
{{- end -}}

{{/* A job of the chart as a component: it runs the command line, with the settings that a binary reads. Give root, name, own and reads. */}}
{{- define "mneme.job" -}}
{{- include "mneme.component" (dict "root" .root "name" .name "kind" (dict "binary" "mneme" "reads" .reads) "own" .own) -}}
{{- end -}}
