{{- define "iad.placeholderNamespace" -}}
{{- $namespace := default .Release.Namespace .Values.placeholderNamespace -}}
{{- if eq $namespace .Values.metallbNamespace -}}
{{- fail (printf "placeholderNamespace: must not be MetalLB's own namespace, %s; install into a namespace of its own or name one" $namespace) -}}
{{- end -}}
{{- $namespace -}}
{{- end -}}

{{/* JSON: the namespaces that placeholders are trusted in, the present one first. */}}
{{- define "iad.placeholderNamespaces" -}}
{{- $names := list (include "iad.placeholderNamespace" .) -}}
{{- range .Values.formerPlaceholderNamespaces -}}
{{- if eq . $.Values.metallbNamespace -}}
{{- fail (printf "formerPlaceholderNamespaces: must not name MetalLB's own namespace, %s" .) -}}
{{- end -}}
{{- $names = append $names . -}}
{{- end -}}
{{- uniq $names | toJson -}}
{{- end -}}

{{/* The controller's own flags. */}}
{{- define "iad.ownArguments" -}}
- --metallb-namespace={{ .Values.metallbNamespace }}
- --placeholder-namespace={{ include "iad.placeholderNamespace" . }}
{{- with rest (include "iad.placeholderNamespaces" . | fromJsonArray) }}
- --former-placeholder-namespaces={{ join "," . }}
{{- end }}
{{- with .Values.loadBalancerClass }}
- --load-balancer-class={{ . }}
{{- end }}
- --max-placeholders={{ int .Values.maxPlaceholders }}
- --detach-timeout={{ .Values.detachTimeout }}
{{- if .Values.evictIntruders }}
- --evict-intruders
{{- end }}
{{- if .Values.inventory }}
- --inventory
{{- end }}
{{- end -}}

{{/* "true" if the policy for the first address is wanted and the API server has such policies. */}}
{{- define "iad.firstAddress" -}}
{{- if and .Values.admission.enabled (or (eq .Values.admission.firstAddress "always")
    (and (eq .Values.admission.firstAddress "auto") (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"))) -}}
true
{{- end -}}
{{- end -}}
