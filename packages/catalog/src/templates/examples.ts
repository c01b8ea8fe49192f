import type { Template } from './template.ts'

/** Small real applications of the folder `examples`: each with its own `stackquay.yml`, which says the same as `project`. */
export const examples: readonly Template[] = [
  {
    name: 'guestbook',
    label: 'Guestbook',
    summary: 'Flask and PostgreSQL: a page that stores and lists rows.',
    runtime: 'python',
    registry: 'pypi',
    folder: 'examples/guestbook',
    project: {
      python: { enabled: true, preset: 'flask', application: 'app:app' },
      databases: { main: { type: 'postgresql' } },
      env: { GUESTBOOK_TITLE: 'Guestbook' },
    },
  },
  {
    name: 'notes',
    label: 'Notes',
    summary: 'Express and PostgreSQL: a JSON API and the page that uses it.',
    runtime: 'node',
    registry: 'npm',
    folder: 'examples/notes',
    project: {
      node: { enabled: true, preset: 'express' },
      databases: { main: { type: 'postgresql' } },
    },
  },
]
