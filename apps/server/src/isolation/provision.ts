import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine } from '@stackquay/engine-api'
import type { Account } from '@stackquay/engines'
import type { Store, UserIds } from '@stackquay/store'
import type { Config } from '../config.ts'
import { grantFolder } from './grant-folder.ts'
import type { InstanceIsolation } from './isolation.ts'
import { moveFiles } from './move-files.ts'

/** Gives a project the user that it runs as, with its files. Called before anything of the project is used. */
export type Provision = (project: string, signal: AbortSignal) => Promise<Account | null>

export interface ProvisionOptions {
  readonly isolation: Pick<InstanceIsolation, 'accounts' | 'users'>
  readonly store: Pick<Store, 'projects' | 'onCommit'>
  readonly engine: Pick<Engine, 'observe' | 'commands'>
  readonly config: Pick<Config, 'home' | 'projectsDir'>
  /** Tells what was changed on the machine. */
  report(text: string): void
}

/**
 * A project of the state before keeps the user that all projects shared while anything of it runs; when nothing does, its files become
 * its own user's first. A kill in between is made up for by the next call.
 */
export function createProvision({ isolation, store, engine, config, report }: ProvisionOptions): Provision {
  const { accounts, users } = isolation
  const under = new Map<string, Promise<void>>()
  const granted = new Set<string>()
  // With a deletion its access ends; from the trash the project may come back.
  store.onCommit((events) => {
    for (const { type, project } of events) if (type === 'project.deleted' && project !== null) granted.delete(project)
  })

  const move = async (project: string, before: UserIds, signal: AbortSignal): Promise<void> => {
    if (users === null) return
    const row = await store.projects.find(project)
    if (row === null) return
    const ours = ['run-home', 'run-tmp', 'tools', 'logs'].map((folder) => join(config.home, folder, project))
    const paths = [row.path, ...ours, ...dataFolders(join(config.home, 'data', project))]
    if (await works(project, before, paths, engine, signal)) return
    const to = await users.own(project)
    await moveFiles(paths, before, to)
    await users.moved(project)
    report(`The files of project "${row.slug}" belong to its own user ${to.name} (uid ${to.uid}) now.`)
  }

  /** What lies in the projects folder is the project's own already. */
  const grant = async (project: string, account: Account) => {
    const path = granted.has(project) ? undefined : (await store.projects.find(project))?.path
    if (path === undefined) return
    if (!path.startsWith(`${config.projectsDir}/`)) await grantFolder(path, account)
    granted.add(project)
  }

  return async (project, signal) => {
    const before = users?.before(project) ?? null
    if (before !== null) {
      const moving = under.get(project) ?? move(project, before, signal).finally(() => under.delete(project))
      under.set(project, moving)
      await moving
    }
    const account = await accounts.of(project)
    if (users !== null && account !== null && before === null) await grant(project, account)
    return account
  }
}

/** Each of its own: the folder above them is root's, and only root lists it. */
function dataFolders(path: string): readonly string[] {
  try {
    return readdirSync(path).map((name) => join(path, name))
  } catch {
    return []
  }
}

/** Whether something of the project runs as the old user, or an escaped process of it sits in one of its folders. */
async function works(
  project: string,
  before: UserIds,
  paths: readonly string[],
  engine: ProvisionOptions['engine'],
  signal: AbortSignal,
): Promise<boolean> {
  const observed = await engine.observe(project, signal)
  if (observed.some(({ state }) => state === 'running')) return true
  for (const ref of await engine.commands.list(signal)) {
    if (ref.project === project && (await engine.commands.find(ref))?.state === 'running') return true
  }
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const folder = readlinkSync(`/proc/${name}/cwd`)
      return (
        statSync(`/proc/${name}`).uid === before.uid &&
        paths.some((path) => folder === path || folder.startsWith(`${path}/`))
      )
    } catch {
      return false
    }
  })
}
