import type { Template } from '../template.ts'

export const next: Template = {
  name: 'next',
  label: 'Next.js',
  summary: 'Pages rendered on the server, with React.',
  runtime: 'node',
  registry: 'npm',
  folder: 'next/files',
  project: { node: { enabled: true, preset: 'next' } },
}
