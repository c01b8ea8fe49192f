import type { Template } from '../template.ts'

export const django: Template = {
  name: 'django',
  label: 'Django',
  summary: 'A Django project with one view.',
  runtime: 'python',
  registry: 'pypi',
  folder: 'django/files',
  project: { python: { enabled: true, preset: 'django' } },
}
