import type { Template } from '../template.ts'

export const goHttp: Template = {
  name: 'go-http',
  label: 'Go',
  summary: 'A Go server from the standard library alone.',
  runtime: 'go',
  registry: null,
  folder: 'go-http/files',
  project: { go: { enabled: true, preset: 'server' } },
}
