import type { Template } from '../template.ts'

export const express: Template = {
  name: 'express',
  label: 'Express',
  summary: 'A JavaScript server with a page and one JSON endpoint.',
  runtime: 'node',
  registry: 'npm',
  folder: 'express/files',
  project: { node: { enabled: true, preset: 'express' } },
}
