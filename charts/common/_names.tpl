{{/* Names, labels and the identity of a controller. Both charts use this file; everything is taken from the chart that renders it. */}}
{{- define "iad.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* <release>-<chart>, or the release alone where it says the chart's name already. */}}
{{- define "iad.fullname" -}}
{{- $name := include "iad.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "iad.selector" -}}
app.kubernetes.io/name: {{ include "iad.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "iad.labels" -}}
{{ include "iad.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- include "iad.checkLabels" (dict "from" "commonLabels" "labels" .Values.commonLabels) }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The same with more labels: .root, .labels, and .from, the value that they are. They stand above the common ones. */}}
{{- define "iad.labelsAnd" -}}
{{- include "iad.checkLabels" . -}}
{{- toYaml (merge (deepCopy .labels) (include "iad.labels" .root | fromYaml)) -}}
{{- end -}}

{{/* Refuses labels that are not for values: by these objects are found and told apart, rights are added to the cluster's roles, and the
driver knows what is its own. */}}
{{- define "iad.checkLabels" -}}
{{- range $key, $_ := .labels -}}
{{- if regexMatch "^(app[.]kubernetes[.]io/(name|instance|version|managed-by)|helm[.]sh/chart)$|^rbac[.]authorization[.]k8s[.]io/|local[.]sdn[.]cozystack[.]io/" $key -}}
{{- fail (printf "%s: %s is a label that values cannot set" $.from $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "iad.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "iad.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name: say which service account to use, as serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "iad.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "iad.serviceAccount" . }}
{{- end -}}

{{- define "iad.image" -}}
{{- $image := .Values.image -}}
{{- if $image.registry -}}{{ trimSuffix "/" $image.registry }}/{{- end -}}
{{ $image.repository }}
{{- if $image.digest -}}
{{- with $image.tag -}}:{{ . }}{{- end -}}@{{ $image.digest }}
{{- else -}}
:{{ default .Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{/* A CEL expression: the request is from somebody who may write what is guarded. */}}
{{- define "iad.trusted" -}}
{{- $allow := .Values.admission.allow -}}
{{- $users := append $allow.users (include "iad.user" .) -}}
{{- range $allow.serviceAccounts -}}
{{- $users = append $users (printf "system:serviceaccount:%s" (replace "/" ":" .)) -}}
{{- end -}}
request.userInfo.username in {{ toJson $users }}
{{- with $allow.groups }} || (has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in {{ toJson . }}))
{{- end -}}
{{- end -}}
