import { ApiError, apiPrefix } from '@stackquay/client'
import type { Problem } from '@stackquay/contract'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'
import { sessionKey } from './session-key.ts'

/** Mails come from outside, and no event tells of them: the list is read again while it is on the screen. */
const lookEvery = 3000

export function mailQuery(project: string, q: string) {
  return infiniteQueryOptions({
    queryKey: ['mail', project, 'list', q],
    queryFn: ({ signal, pageParam }) =>
      client.call(
        'listMail',
        {
          params: { id: project },
          query: { limit: 50, ...(q === '' ? {} : { q }), ...(pageParam === null ? {} : { cursor: pageParam }) },
        },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    staleTime: 0,
    refetchInterval: lookEvery,
    refetchOnWindowFocus: true,
  })
}

export function mailMessageQuery(project: string, message: string) {
  return queryOptions({
    queryKey: ['mail', project, 'message', message],
    queryFn: ({ signal }) => client.call('getMail', { params: { id: project, message } }, { signal }),
  })
}

/** The address of the mail's document, which opens once: each display asks for a new one. */
export function mailFrameQuery(project: string, message: string, remoteImages: boolean) {
  return queryOptions({
    queryKey: ['mail', project, 'frame', message, remoteImages],
    queryFn: async ({ signal }) => {
      const images = remoteImages ? 'remote' : 'embedded'
      const path = `/projects/${encodeURIComponent(project)}/mail/${message}/html?images=${images}`
      return apiPrefix + (await client.ticketed(path, signal))
    },
    gcTime: 0,
  })
}

/** More than anybody reads; the download has all of it. */
const shownSource = 400_000

export function mailSourceQuery(project: string, message: string) {
  return queryOptions({
    queryKey: ['mail', project, 'source', message],
    queryFn: async ({ signal }) => {
      const headers = { 'x-csrf-token': sessionKey() ?? '' }
      const response = await fetch(apiPrefix + sourcePath(project, message), { signal, headers })
      if (!response.ok) throw new ApiError((await response.json()) as Problem, response.headers)
      const text = await response.text()
      return { text: text.slice(0, shownSource), cut: text.length > shownSource }
    },
    gcTime: 0,
  })
}

export function sourcePath(project: string, message: string): string {
  return `/projects/${encodeURIComponent(project)}/mail/${message}/source`
}

export function attachmentPath(project: string, message: string, index: number): string {
  return `/projects/${encodeURIComponent(project)}/mail/${message}/attachments/${index}`
}

export async function markMail(project: string, message: string, read: boolean): Promise<void> {
  await client.call('updateMail', { params: { id: project, message }, body: { read } })
  await readListAgain(project)
}

export async function deleteMail(project: string, message: string): Promise<void> {
  await client.call('deleteMail', { params: { id: project, message } })
  await readListAgain(project)
}

export async function emptyInbox(project: string): Promise<void> {
  await client.call('deleteAllMail', { params: { id: project } })
  await readListAgain(project)
}

function readListAgain(project: string): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ['mail', project, 'list'] })
}
