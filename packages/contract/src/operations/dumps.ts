import { z } from 'zod'
import { operation } from '../operation.ts'
import { DryRun, Flag, Wait } from '../schemas/common.ts'
import { DatabaseImport, dumpCompressions, dumpFormats, importModes } from '../schemas/dumps.ts'
import { database, operate } from './of-project.ts'

const dump = z.string().meta({
  id: 'DatabaseDump',
  format: 'binary',
  description: 'A dump of a database: SQL, or the format of the type’s own programs; plain, gzip or zstd.',
})
const dumpTypes = ['application/sql', 'application/gzip', 'application/zstd', 'application/octet-stream'] as const

export const exportDatabase = operation({
  id: 'exportDatabase',
  method: 'GET',
  path: '/projects/{id}/databases/{db}/export',
  tag: 'Databases',
  summary: 'A dump of a database, while it runs',
  description:
    'By the dump program of its type, consistent, without owners and rights. An answer that breaks off is not whole: its connection ends without the last chunk.',
  access: operate,
  params: database,
  query: z.strictObject({
    format: z
      .enum(dumpFormats)
      .optional()
      .describe('sql (default): text. custom: the format of the type’s own programs, where it has one.'),
    compress: z.enum(dumpCompressions).optional().describe('Default: none.'),
    check: Flag.optional().describe('Only whether it can be exported: 204 when it can.'),
  }),
  results: { 200: dump, 204: null },
  resultType: dumpTypes,
  ticket: 'download',
  problems: ['invalid_request', 'not_running', 'engine_cannot', 'unavailable_here', 'job_failed'],
  audit: 'database.export',
})

export const importDatabase = operation({
  id: 'importDatabase',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/import',
  tag: 'Databases',
  summary: 'Bring a dump into a database',
  description:
    'The body is the dump; what it is, its first bytes say. It is received whole and looked through before anything is touched, then the operation begins. ' +
    'It is carried out with rights on this one database alone, which the server enforces; what names other databases, roles or files is left out and told in `notes`. ' +
    'What is in the database is backed up first. An import that fails leaves it as it was. ' +
    'With `dryRun` the body may be empty: then the plan says nothing of the dump.',
  access: {
    ...operate,
    raised: [
      {
        to: 'admin',
        when: { part: 'query', pointers: ['/mode'], equals: 'replace' },
        because: 'it deletes what is in the database',
      },
    ],
  },
  params: database,
  query: z.strictObject({
    mode: z
      .enum(importModes)
      .optional()
      .describe('replace: what is in the database goes. append: it stays. Needed when the database is not empty.'),
    confirm: z.string().max(60).optional().describe('With `mode=replace`: the database’s name, typed.'),
    dryRun: DryRun,
    wait: Wait,
  }),
  body: dump,
  bodyTypes: dumpTypes,
  bodyStream: true,
  results: { 202: DatabaseImport, 200: DatabaseImport },
  problems: [
    'validation_failed',
    'busy',
    'not_running',
    'disk_full',
    'engine_cannot',
    'unavailable_here',
    'dump_unreadable',
    'unsupported_media_type',
  ],
  audit: 'database.import',
  dryRun: true,
  removes: 'data',
})
