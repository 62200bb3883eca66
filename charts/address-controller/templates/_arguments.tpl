{{/* The controller's own flags: none. */}}
{{- define "iad.ownArguments" -}}
{{- end -}}
