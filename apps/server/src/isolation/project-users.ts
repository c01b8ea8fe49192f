import { type Account, type Accounts, runAs } from '@stackquay/engines'
import type { ProjectUser, Store, UserIds } from '@stackquay/store'
import { makeUser, namedAccount } from './make-user.ts'
import { findSystemUser, removeSystemUser } from './system-users.ts'
import { openUserRecords, type UserRecords, type UserRecordsOptions } from './user-records.ts'

/** A system user for each project, made when something of the project first runs; or the owner of its folder. */
export interface ProjectUsers extends Accounts, Pick<UserRecords, 'adopt'> {
  /** The user that the project has, or will have, for itself. */
  own(project: string): Promise<Account>
  /** The creation did not happen. */
  disown(project: string): void
  /** Its files are its own user's from now on. */
  moved(project: string): Promise<void>
  /** The user that files of a project may still belong to; null when they are its own. */
  before(project: string): UserIds | null
  /** Takes the user away; its number and uid stay taken. */
  retire(project: string): Promise<void>
  /** Projects whose files were not moved to their own users yet. */
  unmoved(): readonly string[]
}

export interface ProjectUsersOptions extends UserRecordsOptions {
  readonly store: Store
  /** The project that an id of a run's own data belongs to; the id itself for a project. */
  projectOf(id: string): Promise<string>
  /** Where the homes of projects' processes lie. */
  homeOf(project: string): string
  /** The user of all projects of the state before; null when there were none. */
  readonly before: UserIds | null
}

export async function openProjectUsers(options: ProjectUsersOptions): Promise<ProjectUsers> {
  const { store, homeOf } = options
  const records = await openUserRecords(options)
  /** A run's own data belongs to the project of the run. */
  const projectOfRun = new Map<string, string>()
  const ready = new Map<string, Promise<Account>>()

  const projectOf = async (id: string): Promise<string> => {
    if (records.find(id) !== undefined) return id
    const project = projectOfRun.get(id) ?? (await options.projectOf(id))
    if (project !== id) projectOfRun.set(id, project)
    return project
  }
  const made = (project: string): Promise<Account> => {
    const known = ready.get(project)
    if (known !== undefined) return known
    const making = makeUser(project, records, homeOf)
    ready.set(project, making)
    making.catch(() => ready.delete(project))
    return making
  }

  if (options.before !== null) {
    for (const { id } of await store.projects.all())
      if (records.find(id) === undefined) await records.add(id, options.before)
  }

  return {
    shared: undefined,
    async of(id) {
      const project = await projectOf(id)
      const row = records.find(project)
      return row === undefined || row.before === null ? made(project) : accountOf(row)
    },
    known(id) {
      const row = records.find(projectOfRun.get(id) ?? id)
      return row === undefined ? undefined : accountOf(row)
    },
    all: () => records.all().map(([project, row]) => ({ project, account: accountOf(row) })),
    own: made,
    adopt: records.adopt,
    disown: records.forget,
    before: (project) => records.find(project)?.before ?? null,
    async moved(project) {
      const row = records.find(project)
      if (row !== undefined) await records.moved(row)
    },
    async retire(project) {
      const row = records.find(project)
      if (row === undefined) return
      if (!row.isOwner) await removeUser(row)
      await records.retire(project)
      ready.delete(project)
    },
    unmoved: () => records.all().flatMap(([project, { before }]) => (before === null ? [] : [project])),
  }
}

/** While its files were not moved, a project runs as the user that all projects had. */
function accountOf(row: ProjectUser): Account {
  return row.before === null ? namedAccount(row) : { ...row.before, isShared: true }
}

/** One of that name who has another uid is somebody else's. */
async function removeUser({ name, uid, gid }: ProjectUser): Promise<void> {
  if ((await findSystemUser(name))?.uid !== uid) return
  await removeIpcObjects({ uid, gid })
  await removeSystemUser(name)
}

/** System V objects outlive the programs that made them. What is somebody else's the kernel refuses to remove. */
async function removeIpcObjects(account: Account): Promise<void> {
  await runAs(account, ['/usr/bin/ipcrm', '--all']).catch(() => undefined)
}
