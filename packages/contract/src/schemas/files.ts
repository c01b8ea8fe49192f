import { z } from 'zod'
import { Cursor } from './common.ts'
import { TrashId } from './trash.ts'

export const fileKinds = ['file', 'folder', 'link', 'other'] as const

const path = z.string().max(2000).describe('Below the folder of the project: `src/app.ts`.')

export const FilePathQuery = z.strictObject({ path })
export const FolderQuery = z.strictObject({
  path: path.optional().describe('Default: the folder of the project.'),
})
export const FilesQuery = FolderQuery.extend({
  limit: z
    .string()
    .regex(/^\d{1,4}$/, 'is not a whole number')
    .transform((text) => Math.min(Math.max(Number(text), 1), 1000))
    .optional()
    .describe('Default 200, at most 1000.')
    .meta({ type: 'integer', minimum: 1, maximum: 1000 }),
  cursor: Cursor,
})

export const FileView = z
  .object({
    name: z.string(),
    path: z.string().nullable().describe('Null: the name is no UTF-8, and only SFTP reaches it.'),
    kind: z.enum(fileKinds).describe('other: a pipe, a socket, a device.'),
    size: z.int(),
    mode: z.string().describe('Rights in octal: 640.'),
    modifiedAt: z.string().meta({ format: 'date-time' }),
    link: z
      .object({ target: z.string(), to: z.enum(['file', 'folder']).nullable().describe('Null: nothing inside.') })
      .meta({ id: 'FileLink' })
      .nullable(),
  })
  .meta({ id: 'File' })
export type FileView = z.infer<typeof FileView>

export const FileList = z
  .object({
    path: z.string(),
    items: z.array(FileView),
    nextCursor: z.string().nullable(),
    isWhole: z.boolean().describe('False: the folder holds more than are looked at.'),
  })
  .meta({ id: 'FileList' })
export type FileList = z.infer<typeof FileList>

export const FileWritten = z.object({ path: z.string(), size: z.int(), etag: z.string() }).meta({ id: 'FileWritten' })
export type FileWritten = z.infer<typeof FileWritten>

export const FolderCreate = z.strictObject({ path }).meta({ id: 'FolderCreate' })
export const FileRename = z.strictObject({ from: path, to: path }).meta({ id: 'FileRename' })
export const FileRestore = z.strictObject({ item: TrashId }).meta({ id: 'FileRestore' })
