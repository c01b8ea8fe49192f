import type { Account, Accounts } from '@stackquay/engines'
import type { ProjectUser, Store, UserIds } from '@stackquay/store'
import { removeIpcObjects } from './ipc-objects.ts'
import { makeUser, namedAccount } from './make-user.ts'
import { createSpareUsers } from './spare-users.ts'
import { findSystemUser, removeSystemUser } from './system-users.ts'
import type { UserHomes } from './user-homes.ts'
import { type ChosenUser, openUserRecords, type UserRecords, type UserRecordsOptions } from './user-records.ts'

/** A system user for each project, made when something of the project first runs, or before; or the owner of its folder. */
export interface ProjectUsers extends Accounts, Pick<UserRecords, 'adopt'> {
  /** The user that the project has, or will have, for itself. */
  own(project: string): Promise<Account>
  /** A user that waits, for a project that is about to be created; null where none does: then it is made when it is needed. */
  reserve(project: string): Promise<ChosenUser | null>
  /** Its files are its own user's from now on. */
  moved(project: string): Promise<void>
  /** The user that files of a project may still belong to; null when they are its own. */
  before(project: string): UserIds | null
  /** Takes the user away; its number and uid stay taken. */
  retire(project: string): Promise<void>
  /** Projects whose files were not moved to their own users yet. */
  unmoved(): readonly string[]
  /** Users that wait for projects: those that an earlier service left are found, and those that it only wrote down are added. */
  resume(): Promise<void>
  /** No user is added from here on. */
  close(): Promise<void>
}

export interface ProjectUsersOptions extends UserRecordsOptions {
  readonly store: Store
  /** The project that an id of a test environment belongs to; the id itself for a project. */
  projectOf(id: string): Promise<string>
  readonly homes: UserHomes
  /** The user of all projects of the state before; null when there were none. */
  readonly before: UserIds | null
  onError(error: unknown, what: string): void
}

export async function openProjectUsers(options: ProjectUsersOptions): Promise<ProjectUsers> {
  const { store, homes, onError } = options
  const records = await openUserRecords(options)
  /** A test environment belongs to the project of its run. */
  const projectOfRun = new Map<string, string>()
  const ready = new Map<string, Promise<Account>>()

  const projectOf = async (id: string): Promise<string> => {
    if (records.find(id) !== undefined) return id
    const project = projectOfRun.get(id) ?? (await options.projectOf(id))
    if (project !== id) projectOfRun.set(id, project)
    return project
  }
  const readied = (project: string, user: Promise<Account>): Promise<Account> => {
    const account = user.then((one) => withHome(project, one, homes))
    ready.set(project, account)
    account.catch(() => ready.delete(project))
    return account
  }
  const made = (project: string): Promise<Account> =>
    ready.get(project) ?? readied(project, makeUser(project, records, homes))
  const spare = createSpareUsers({
    records: records.spare,
    most: mostSpare(options.uids),
    homeOf: homes.of,
    remove: (user) => removeUser(user, homes),
    onError,
  })

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
    async reserve(project) {
      const user = await spare.take()
      if (user === null) return null
      return waited(records.spare.give(user, project), {
        // It is there: the machine need not be asked.
        given: () => void readied(project, Promise.resolve(namedAccount(user))),
        back: () => spare.giveBack(user),
      })
    },
    before: (project) => records.find(project)?.before ?? null,
    async moved(project) {
      const row = records.find(project)
      if (row !== undefined) await records.moved(row)
    },
    async retire(project) {
      const row = records.find(project)
      if (row === undefined) return
      if (!row.isOwner) await removeUser(row, homes)
      await records.retire(project)
      ready.delete(project)
    },
    unmoved: () => records.all().flatMap(([project, { before }]) => (before === null ? [] : [project])),
    resume: spare.resume,
    close: spare.close,
  }
}

/** A small part of the range: others of the machine may have the same. */
function mostSpare({ from, to }: ProjectUsersOptions['uids']): number {
  return Math.min(32, Math.floor((to - from + 1) / 8))
}

/** One that could not be given is no use to the next project either. */
function waited(chosen: ChosenUser, { given, back }: Pick<ChosenUser, 'given' | 'back'>): ChosenUser {
  let isUsable = true
  return {
    give: async (tx) => {
      isUsable = false
      await chosen.give(tx)
      isUsable = true
    },
    given: () => {
      chosen.given()
      given()
    },
    back: () => {
      chosen.back()
      if (isUsable) back()
    },
  }
}

async function withHome(project: string, account: Account, homes: UserHomes): Promise<Account> {
  if (account.isOwner !== true && account.name !== undefined) await homes.lead(account.name, project)
  return account
}

/** While its files were not moved, a project runs as the user that all projects had. */
function accountOf(row: ProjectUser): Account {
  return row.before === null ? namedAccount(row) : { ...row.before, isShared: true }
}

/** One of that name who has another uid is somebody else's. */
async function removeUser({ name, uid, gid }: ProjectUser, homes: UserHomes): Promise<void> {
  if ((await findSystemUser(name))?.uid === uid) {
    await removeIpcObjects({ uid, gid })
    await removeSystemUser(name)
  }
  await homes.remove(name)
}
