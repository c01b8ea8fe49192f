import { dumpNoteKinds } from '@stackquay/catalog'
import { z } from 'zod'
import { BackupId } from './backups.ts'
import { OperationRecord } from './operations.ts'

export const dumpFormats = ['sql', 'custom'] as const
export const dumpCompressions = ['none', 'gzip', 'zstd'] as const
export const importModes = ['replace', 'append'] as const

export const DumpNote = z
  .object({
    kind: z
      .enum(dumpNoteKinds)
      .describe(
        'What it is about: another `database`, a `role` or account, an `owner` or rights, a `file` of the server, a command of a `client` program, a setting of the `server`, or a `transaction`.',
      ),
    text: z.string().describe('As it stands there, shortened: `DROP DATABASE other`.'),
    count: z.int().describe('How often.'),
    lines: z.array(z.int()).describe('The first lines that it stands in, from 1.'),
  })
  .meta({ id: 'DumpNote' })
export type DumpNote = z.infer<typeof DumpNote>

export const DatabaseImport = z
  .object({
    operation: OperationRecord.describe('The import; with `wait`, as it ended.'),
    dump: z
      .object({
        format: z.enum(dumpFormats).describe('sql: text. custom: the format of the type’s own programs.'),
        compression: z.enum(dumpCompressions).describe('How it was packed.'),
        bytes: z.int().describe('As it was sent.'),
        contentBytes: z.int().describe('Unpacked.'),
      })
      .meta({ id: 'ImportedDump' })
      .describe('What the body was.'),
    notes: z.array(DumpNote).describe('What is left out, because it is no business of this database.'),
    backup: BackupId.nullable().describe('The backup that is made before; null when the database was empty.'),
  })
  .meta({ id: 'DatabaseImport' })
export type DatabaseImport = z.infer<typeof DatabaseImport>
