import type { Template } from '../template.ts'

export const staticTemplate: Template = {
  name: 'static',
  label: 'Static page',
  summary: 'One HTML page and a style sheet. Nothing to install.',
  runtime: 'static',
  registry: null,
  folder: 'static/files',
  project: { static: { enabled: true, preset: 'plain', documentRoot: '.' } },
}
