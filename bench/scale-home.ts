import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from '@stackquay/client'
import { sweep } from '@stackquay/testkit'
import { admin, newToken } from '../e2e/support/service.ts'
import { knowsSetting, type Started, serviceOf, startByCommand } from './command.ts'

/** A home with stopped projects, of the service of one checkout. */
export interface ScaleHome {
  readonly checkout: string
  readonly path: string
  readonly projects: number
  start(): Promise<RunningScale>
  /** With all users that projects have. */
  remove(): Promise<void>
}

export interface RunningScale extends Started {
  readonly client: Client
}

/** Projects that one home may have. */
const uidsOfHome = 2_000
let homes = 0

export async function newScaleHome(checkout: string, projects: number): Promise<ScaleHome> {
  const path = await mkdtemp(join(tmpdir(), 'stackquay-bench-'))
  // Such as machines give to groups too: a user’s group has its number then.
  const uids = 20_000 + homes * uidsOfHome
  homes += 1
  const env = {
    STACKQUAY_ENGINE: 'native',
    STACKQUAY_ADMIN_USER: admin.username,
    STACKQUAY_ADMIN_PASSWORD: admin.password,
    // Of its own: finding a free number among those of another home is not what is measured.
    ...(knowsSetting(checkout, 'STACKQUAY_PROJECT_UIDS')
      ? { STACKQUAY_PROJECT_UIDS: `${uids}-${uids + uidsOfHome - 1}` }
      : {}),
  }
  let token: string | undefined
  return {
    checkout,
    path,
    projects,
    start: async () => {
      const service = await serviceOf(checkout)
      const started = await startByCommand(service.command, path, { checkout, env: { ...service.env, ...env } })
      token ??= await newToken(started.url, 'admin')
      return { ...started, client: createClient({ baseUrl: started.url, token, clientName: 'cli' }) }
    },
    remove: async () => {
      await sweep(path)
      await rm(path, { recursive: true, force: true })
    },
  }
}

/** Stopped projects, numbered from `from` on, so many at the same time. Answers how many were created in a second. */
export async function createProjects(
  client: Client,
  { from, count, together }: { readonly from: number; readonly count: number; readonly together: number },
): Promise<number> {
  const began = performance.now()
  let next = from
  const createNext = async () => {
    while (next < from + count) {
      const index = next
      next += 1
      const body = { name: `Project ${index}`, template: index % 2 === 0 ? 'express' : 'static', start: false }
      const { operation } = await client.call('createProject', { body, query: { wait: 60 } })
      if (operation?.state !== 'succeeded')
        throw new Error(`Project ${index} was not created: ${JSON.stringify(operation)}`)
    }
  }
  await Promise.all(Array.from({ length: together }, createNext))
  return (count * 1000) / (performance.now() - began)
}
