import type { Template } from '../template.ts'

export const fastapi: Template = {
  name: 'fastapi',
  label: 'FastAPI',
  summary: 'A Python API with its own documentation page.',
  runtime: 'python',
  registry: 'pypi',
  folder: 'fastapi/files',
  project: { python: { enabled: true, preset: 'asgi', application: 'main:app' } },
}
