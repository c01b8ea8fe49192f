import type { Template } from '../template.ts'

export const flask: Template = {
  name: 'flask',
  label: 'Flask',
  summary: 'A small Python server with a template.',
  runtime: 'python',
  registry: 'pypi',
  folder: 'flask/files',
  project: { python: { enabled: true, preset: 'flask', application: 'app:app' } },
}
