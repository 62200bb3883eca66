{{/*
Rights come from files/rights.yaml, the manifest that the tests hold against what the code declares. Here its roles are split by
where they apply; nothing is added.
  iad.clusterRules       rules of its ClusterRole
  iad.namespaceRules     dict "root" . "namespace" NS "leases" BOOL: rules of its Role in NS, those on Leases or the others
*/}}
{{- define "iad.manifest" -}}
{{- $roles := list -}}
{{- range splitList "\n---\n" (.Files.Get "files/rights.yaml") -}}
{{- $object := fromYaml . -}}
{{- if has (get $object "kind") (list "Role" "ClusterRole") -}}
{{- $roles = append $roles (dict "namespace" (default "" $object.metadata.namespace) "rules" $object.rules) -}}
{{- end -}}
{{- end -}}
{{- toYaml $roles -}}
{{- end -}}

{{- define "iad.clusterRules" -}}
{{- $rules := list -}}
{{- range (include "iad.manifest" . | fromYamlArray) -}}
{{- if not .namespace -}}{{- $rules = concat $rules .rules -}}{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{- define "iad.namespaceRules" -}}
{{- $rules := list -}}
{{- $arguments := . -}}
{{- range (include "iad.manifest" .root | fromYamlArray) -}}
{{- if eq .namespace $arguments.namespace -}}
{{- range .rules -}}
{{- if eq (has "coordination.k8s.io" .apiGroups) $arguments.leases -}}{{- $rules = append $rules . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $rules -}}{{- fail (printf "files/rights.yaml has no rules for namespace %s" $arguments.namespace) -}}{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* A Role with its binding. dict "root" . "name" NAME "namespace" NS "rules" YAML */}}
{{- define "iad.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels: {{- include "iad.labels" .root | nindent 4 }}
rules: {{- .rules | nindent 0 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels: {{- include "iad.labels" .root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .name }}}
subjects:
- {kind: ServiceAccount, name: {{ include "iad.serviceAccount" .root }}, namespace: {{ .root.Release.Namespace }}}
{{- end -}}

{{/* The ClusterRole with its binding. */}}
{{- define "iad.clusterRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "iad.fullname" . }}
  labels: {{- include "iad.labels" . | nindent 4 }}
rules: {{- include "iad.clusterRules" . | nindent 0 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "iad.fullname" . }}
  labels: {{- include "iad.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ include "iad.fullname" . }}}
subjects:
- {kind: ServiceAccount, name: {{ include "iad.serviceAccount" . }}, namespace: {{ .Release.Namespace }}}
{{- end -}}
