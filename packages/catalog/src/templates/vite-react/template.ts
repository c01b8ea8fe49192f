import type { Template } from '../template.ts'

export const viteReact: Template = {
  name: 'vite-react',
  label: 'Vite and React',
  summary: 'A page in TypeScript with hot reload.',
  runtime: 'node',
  registry: 'npm',
  folder: 'vite-react/files',
  project: { node: { enabled: true, preset: 'vite' } },
}
