{{/*
Rights come from files/rights.yaml (and such manifests of what is opt-in), which the tests hold against what the code declares. Here
their roles are split by where they apply; nothing is added.
  iad.clusterRules       rules of its ClusterRole
  iad.namespaceRules     dict "root" . "namespace" NS "leases" BOOL: rules of its Role in NS, those on Leases or the others
*/}}
{{- define "iad.manifest" -}}
{{ include "iad.rolesOf" (dict "root" . "file" "files/rights.yaml") }}
{{- end -}}

{{- define "iad.rolesOf" -}}
{{- $roles := list -}}
{{- range splitList "\n---\n" (.root.Files.Get .file) -}}
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

{{- define "iad.inventoryRole" -}}
{{- $roles := include "iad.rolesOf" (dict "root" . "file" "files/rights-inventory.yaml") | fromYamlArray -}}
{{ include "iad.boundClusterRole" (dict "root" . "name" (printf "%s-inventory" (include "iad.fullname" .)) "rules" (toYaml (first $roles).rules)) }}
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

{{/* A ClusterRole with its binding. dict "root" . "name" NAME "rules" YAML */}}
{{- define "iad.boundClusterRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name }}
  labels: {{- include "iad.labels" .root | nindent 4 }}
rules: {{- .rules | nindent 0 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels: {{- include "iad.labels" .root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .name }}}
subjects:
- {kind: ServiceAccount, name: {{ include "iad.serviceAccount" .root }}, namespace: {{ .root.Release.Namespace }}}
{{- end -}}

{{- define "iad.clusterRole" -}}
{{ include "iad.boundClusterRole" (dict "root" . "name" (include "iad.fullname" .) "rules" (include "iad.clusterRules" .)) }}
{{- end -}}
