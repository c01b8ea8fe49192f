import { z } from 'zod'
import { operation } from '../operation.ts'
import {
  FileList,
  FilePathQuery,
  FileRename,
  FileRestore,
  FilesQuery,
  FileView,
  FileWritten,
  FolderCreate,
  FolderQuery,
} from '../schemas/files.ts'
import { TrashItem } from '../schemas/trash.ts'
import { id, operate } from './of-project.ts'

const tag = 'Files'
const bytes = z.string().meta({ id: 'FileContent', format: 'binary', description: 'The bytes of a file.' })
const problems = ['unavailable', 'io_failed', 'path_forbidden'] as const

export const listFiles = operation({
  id: 'listFiles',
  method: 'GET',
  path: '/projects/{id}/files',
  tag,
  summary: 'What is in a folder: folders first, then by name',
  description: 'Also while it sleeps or is stopped.',
  access: operate,
  params: id,
  query: FilesQuery,
  results: { 200: FileList },
  problems: ['invalid_request', ...problems],
})

export const readFile = operation({
  id: 'readFile',
  method: 'GET',
  path: '/projects/{id}/files/content',
  tag,
  summary: 'The content of a file',
  description: 'With ranges. Its ETag is what `writeFile` takes.',
  access: operate,
  params: id,
  query: FilePathQuery,
  results: { 200: bytes },
  resultType: 'application/octet-stream',
  ticket: 'download',
  problems: ['invalid_request', ...problems],
  audit: 'file.read',
})

export const writeFile = operation({
  id: 'writeFile',
  method: 'PUT',
  path: '/projects/{id}/files/content',
  tag,
  summary: 'Make a file, or replace it whole or not at all',
  description:
    '`If-None-Match: *` makes one; `If-Match` replaces what is still as it was read, `*` whatever is there. At most 4 GiB.',
  access: operate,
  params: id,
  query: FilePathQuery,
  body: bytes,
  bodyTypes: ['application/octet-stream'],
  bodyStream: true,
  results: { 200: FileWritten, 201: FileWritten },
  problems: [
    'invalid_request',
    'precondition_required',
    'precondition_failed',
    'too_large',
    'disk_full',
    'unsupported_media_type',
    ...problems,
  ],
  audit: 'file.write',
})

export const deleteFile = operation({
  id: 'deleteFile',
  method: 'DELETE',
  path: '/projects/{id}/files',
  tag,
  summary: 'Move a file or folder to the trash',
  description: 'In the folder of the project, until it is restored or purged.',
  access: operate,
  params: id,
  query: FilePathQuery,
  results: { 200: TrashItem },
  problems: ['invalid_request', 'conflict', ...problems],
  audit: 'file.delete',
  removes: 'record',
})

export const restoreFile = operation({
  id: 'restoreFile',
  method: 'POST',
  path: '/projects/{id}/files/restore',
  tag,
  summary: 'Bring a deleted file back to where it was',
  description: 'Nothing is replaced.',
  access: operate,
  params: id,
  body: FileRestore,
  results: { 200: FileView },
  problems: ['validation_failed', 'conflict', ...problems],
  audit: 'trash.restore',
})

export const createFolder = operation({
  id: 'createFolder',
  method: 'POST',
  path: '/projects/{id}/files/folders',
  tag,
  summary: 'Make a folder',
  description: 'In a folder that is there.',
  access: operate,
  params: id,
  body: FolderCreate,
  results: { 201: FileView },
  problems: ['validation_failed', 'conflict', 'disk_full', ...problems],
  audit: 'file.folder',
})

export const renameFile = operation({
  id: 'renameFile',
  method: 'POST',
  path: '/projects/{id}/files/rename',
  tag,
  summary: 'Rename or move a file or folder',
  description: 'Nothing is replaced.',
  access: operate,
  params: id,
  body: FileRename,
  results: { 200: FileView },
  problems: ['validation_failed', 'conflict', ...problems],
  audit: 'file.rename',
})

export const archiveFolder = operation({
  id: 'archiveFolder',
  method: 'GET',
  path: '/projects/{id}/files/archive',
  tag,
  summary: 'A folder as tar.gz',
  description: 'Links as links; pipes and devices are left out. Not whole where it ends without the last chunk.',
  access: operate,
  params: id,
  query: FolderQuery,
  results: { 200: bytes },
  resultType: 'application/gzip',
  ticket: 'download',
  problems: ['invalid_request', ...problems],
  audit: 'file.archive',
})
