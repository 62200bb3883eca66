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

{{/* Refuses to take the rights in a namespace from pods that hold addresses there. New pods would not start, and those of the release as it
is would go on without. Where nobody can be asked (helm template, --dry-run=client, an API server without the release) nothing is refused. */}}
{{- define "iad.refuseToForget" -}}
{{- $known := include "iad.placeholderNamespaces" . | fromJsonArray -}}
{{- $deployment := lookup "apps/v1" "Deployment" .Release.Namespace (include "iad.fullname" .) | default dict -}}
{{- range dig "spec" "template" "spec" "containers" list $deployment -}}
{{- range .args -}}
{{- $flag := splitn "=" 2 . -}}
{{- if and (eq $flag._0 "--placeholder-namespace") (not (has $flag._1 $known)) -}}
{{- fail (printf "formerPlaceholderNamespaces: add %s, where the placeholders of this release are; without it nobody may hold addresses there any more" $flag._1) -}}
{{- end -}}
{{- if eq $flag._0 "--former-placeholder-namespaces" -}}
{{- range splitList "," $flag._1 -}}
{{- if not (has . $known) -}}
{{- range (lookup "v1" "Service" . "" | default dict).items -}}
{{- if hasKey (.metadata.labels | default dict) "metallb.drivers.local.sdn.cozystack.io/placeholder" -}}
{{- fail (printf "formerPlaceholderNamespaces: keep %s until there is no placeholder in it any more; %s is" .metadata.namespace .metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The controller's own flags. */}}
{{- define "iad.ownArguments" -}}
{{- include "iad.refuseToForget" . -}}
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
