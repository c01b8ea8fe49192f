import { ApiError, apiPrefix } from '@stackquay/client'
import type { FileList, FileView, FileWritten, Problem, TrashItem } from '@stackquay/contract'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { bytesAt, client } from './client.ts'
import { queryClient } from './query-client.ts'
import { sessionKey } from './session-key.ts'

export const folderQuery = (project: string, path: string) =>
  infiniteQueryOptions({
    queryKey: ['project', project, 'files', path],
    queryFn: ({ pageParam, signal }): Promise<FileList> => {
      const query = { path, limit: 500, ...(pageParam === '' ? {} : { cursor: pageParam }) }
      return client.call('listFiles', { params: { id: project }, query }, { signal })
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    staleTime: 0,
  })

export function readFile(project: string, path: string, most: number) {
  return bytesAt(contentPath(project, path), most)
}

/** `ifMatch` null: it must not be there yet. */
export async function writeFile(
  project: string,
  path: string,
  content: Blob,
  ifMatch: string | null,
  onProgress: (share: number) => void = () => {},
): Promise<FileWritten> {
  const written = await send(contentPath(project, path), content, ifMatch, onProgress)
  await again(project)
  return written
}

export async function createFolder(project: string, path: string): Promise<FileView> {
  const made = await client.call('createFolder', { params: { id: project }, body: { path } })
  await again(project)
  return made
}

export async function renameFile(project: string, from: string, to: string): Promise<void> {
  await client.call('renameFile', { params: { id: project }, body: { from, to } })
  await again(project)
}

export async function deleteFile(project: string, path: string): Promise<TrashItem> {
  const item = await client.call('deleteFile', { params: { id: project }, query: { path } })
  await again(project)
  return item
}

export async function restoreFile(project: string, item: string): Promise<void> {
  await client.call('restoreFile', { params: { id: project }, body: { item } })
  await again(project)
}

/** Below `/api/v1`. */
export function contentPath(project: string, path: string): string {
  return `/projects/${encodeURIComponent(project)}/files/content?path=${encodeURIComponent(path)}`
}

export function archivePath(project: string, path: string): string {
  return `/projects/${encodeURIComponent(project)}/files/archive?path=${encodeURIComponent(path)}`
}

function again(project: string): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ['project', project, 'files'] })
}

/** By the one way that tells how much is sent. */
function send(
  path: string,
  content: Blob,
  ifMatch: string | null,
  onProgress: (share: number) => void,
): Promise<FileWritten> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('PUT', apiPrefix + path)
    request.setRequestHeader('content-type', 'application/octet-stream')
    request.setRequestHeader('x-csrf-token', sessionKey() ?? '')
    request.setRequestHeader(ifMatch === null ? 'if-none-match' : 'if-match', ifMatch ?? '*')
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onload = () => {
      try {
        const answer: unknown = JSON.parse(request.responseText)
        if (request.status < 300) resolve(answer as FileWritten)
        else reject(new ApiError(answer as Problem))
      } catch (error) {
        reject(error)
      }
    }
    request.onerror = () => reject(new TypeError(request.statusText || 'network'))
    request.send(content.slice(0, content.size, 'application/octet-stream'))
  })
}
