import { z } from 'zod'
import { operation } from '../operation.ts'
import { Project } from '../schemas/project.ts'
import { TrashId, TrashItem, TrashList, TrashRestore, TrashWait } from '../schemas/trash.ts'

const admin = { kind: 'scope', scope: 'admin' } as const
const one = z.object({ item: TrashId })

export const listTrash = operation({
  id: 'listTrash',
  method: 'GET',
  path: '/trash',
  tag: 'Trash',
  summary: 'What was deleted and can be restored, newest first',
  description: 'A token restricted to projects sees items of those.',
  access: admin,
  results: { 200: TrashList },
  problems: [],
})

export const restoreTrash = operation({
  id: 'restoreTrash',
  method: 'POST',
  path: '/trash/{item}/restore',
  tag: 'Trash',
  summary: 'Bring a deleted project, or data of a service or database, back',
  description:
    'A project comes back stopped, as it was. Data goes back to its project where that has none of the name now; a database with its settings.',
  access: admin,
  params: one,
  query: TrashWait,
  body: TrashRestore,
  results: { 200: Project },
  problems: ['validation_failed', 'conflict', 'busy', 'engine_cannot', 'unavailable_here'],
  audit: 'trash.restore',
})

export const purgeTrash = operation({
  id: 'purgeTrash',
  method: 'DELETE',
  path: '/trash/{item}',
  tag: 'Trash',
  summary: 'Delete something in the trash for good',
  description: '`confirm` must be its name. It frees its disk; it cannot be undone.',
  access: admin,
  params: one,
  query: z.strictObject({ confirm: z.string().max(2000).optional().describe('`name` of the item, typed.') }),
  results: { 200: TrashItem },
  problems: ['validation_failed', 'conflict', 'engine_cannot'],
  audit: 'trash.purge',
  removes: 'data',
})
