import type { Template } from '../template.ts'

export const plain: Template = {
  name: 'plain',
  label: 'PHP',
  summary: 'One PHP page. Nothing to install.',
  runtime: 'php',
  registry: null,
  folder: 'plain/files',
  project: { php: { enabled: true, preset: 'plain' } },
}
