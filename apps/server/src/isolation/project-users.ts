import { EngineError } from '@stackquay/engine-api'
import { type Account, type Accounts, runAs } from '@stackquay/engines'
import type { ProjectUser, Store, Transaction, UserIds } from '@stackquay/store'
import { addSystemUser, findSystemUser, removeSystemUser, type SystemUser, takenIds } from './system-users.ts'

/** A system user for each project, made when something of the project first runs; or the owner of its folder. */
export interface ProjectUsers extends Accounts {
  /** The user that the project has, or will have, for itself. */
  own(project: string): Promise<Account>
  /** A project that runs as somebody’s own user, from its creation on. Part of the transaction that creates it. */
  adopt(tx: Pick<Transaction, 'projectUsers'>, project: string, owner: Account & { name: string }): Promise<void>
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

export interface ProjectUsersOptions {
  readonly store: Store
  /** Tells this installation's users from those of another one on the machine. */
  readonly instance: string
  readonly uids: { readonly from: number; readonly to: number }
  /** The project that an id of a test environment belongs to; the id itself for a project. */
  projectOf(id: string): Promise<string>
  /** Where the homes of projects' processes lie. */
  homeOf(project: string): string
  /** The user of all projects of the state before; null when there were none. */
  readonly before: UserIds | null
}

export async function openProjectUsers(options: ProjectUsersOptions): Promise<ProjectUsers> {
  const { store } = options
  const rows = new Map<string, ProjectUser>()
  const taken = new Set<number>()
  for (const row of await store.projectUsers.all()) remember(row)
  /** A test environment belongs to the project of its run. */
  const projectOfRun = new Map<string, string>()
  const ready = new Map<string, Promise<Account>>()

  function remember(row: ProjectUser): void {
    if (row.project !== null) rows.set(row.project, row)
    taken.add(row.uid)
  }
  const accountOf = (row: ProjectUser): Account =>
    row.before === null ? namedAccount(row) : { ...row.before, isShared: true }
  const projectOf = async (id: string): Promise<string> => {
    if (rows.has(id)) return id
    const project = projectOfRun.get(id) ?? (await options.projectOf(id))
    if (project !== id) projectOfRun.set(id, project)
    return project
  }
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const mine = last.then(act, act)
    last = mine
    return mine
  }

  const freeUid = createFreeUids(options.uids, taken)
  const add = (project: string, before: UserIds | null): Promise<ProjectUser> =>
    inTurn(async () => {
      const uid = await freeUid()
      const name = (number: number) => `s${options.instance.slice(0, 6)}-${number}`
      const row = await store.transaction((tx) => tx.projectUsers.add({ project, name, uid, gid: uid, before }))
      remember(row)
      return row
    })

  /** What was written down comes first: a user that is made is known, also after a crash in between. */
  const make = async (project: string): Promise<Account> => {
    for (;;) {
      const known = rows.get(project)
      const row = known ?? (await add(project, null))
      // For a number that was just given out nobody has made one; a name that is taken all the same, `useradd` reports.
      const existing = known === undefined ? null : await findSystemUser(row.name)
      if (row.isOwner) return ownerStill(row, existing)
      if (existing !== null && existing.uid === row.uid) return { ...namedAccount(row), gid: existing.gid }
      const added = existing !== null ? 'name_taken' : await addUser(row, project)
      if (added === 'uid_taken') await changeUid(row)
      else if (added === 'name_taken') {
        // A user of that name is there for something else and is left alone; the project gets the next number.
        await store.transaction((tx) => tx.projectUsers.retire(project))
        rows.delete(project)
      } else {
        if (added.gid !== row.gid) await keepIds(row, added)
        return { ...namedAccount(row), gid: added.gid }
      }
    }
  }
  const addUser = ({ name, uid }: ProjectUser, project: string) =>
    addSystemUser({ name, uid, home: options.homeOf(project) }).catch((error: Error) => {
      throw unavailable(
        `The project has no user of its own, and none can be made: ${error.message}.`,
        'Let the service make users (useradd), or choose another level with STACKQUAY_ISOLATION.',
      )
    })
  const changeUid = (row: ProjectUser) =>
    inTurn(async () => {
      const uid = await freeUid()
      await keepIds(row, { uid, gid: uid })
    })
  const keepIds = async (row: ProjectUser, ids: UserIds) => {
    await store.transaction((tx) => tx.projectUsers.setIds(row.number, { uid: ids.uid, gid: ids.gid }))
    remember({ ...row, uid: ids.uid, gid: ids.gid })
  }
  const made = (project: string): Promise<Account> => {
    const known = ready.get(project)
    if (known !== undefined) return known
    const making = make(project)
    ready.set(project, making)
    making.catch(() => ready.delete(project))
    return making
  }

  if (options.before !== null) {
    for (const { id } of await store.projects.all()) if (!rows.has(id)) await add(id, options.before)
  }

  return {
    shared: undefined,
    async of(id) {
      const project = await projectOf(id)
      const row = rows.get(project)
      return row === undefined || row.before === null ? made(project) : accountOf(row)
    },
    known(id) {
      const row = rows.get(projectOfRun.get(id) ?? id)
      return row === undefined ? undefined : accountOf(row)
    },
    all: () => [...rows].map(([project, row]) => ({ project, account: accountOf(row) })),
    own: made,
    async adopt(tx, project, owner) {
      remember(
        await tx.projectUsers.add({
          project,
          name: () => owner.name,
          uid: owner.uid,
          gid: owner.gid,
          before: null,
          isOwner: true,
        }),
      )
    },
    disown: (project) => void rows.delete(project),
    before: (project) => rows.get(project)?.before ?? null,
    async moved(project) {
      const row = rows.get(project)
      if (row === undefined) return
      await store.transaction((tx) => tx.projectUsers.setMoved(row.number))
      remember({ ...row, before: null })
    },
    async retire(project) {
      const row = rows.get(project)
      if (row === undefined) return
      // One of that name who has another uid is somebody else's.
      if (!row.isOwner && (await findSystemUser(row.name))?.uid === row.uid) {
        await removeIpcObjects({ uid: row.uid, gid: row.gid })
        await removeSystemUser(row.name)
      }
      await store.transaction((tx) => tx.projectUsers.retire(project))
      rows.delete(project)
      ready.delete(project)
    },
    unmoved: () => [...rows].flatMap(([project, { before }]) => (before === null ? [] : [project])),
  }
}

/** Before a number is written down it is nobody's: what is written is used as the project's after a crash. */
function createFreeUids({ from, to }: ProjectUsersOptions['uids'], taken: ReadonlySet<number>): () => Promise<number> {
  let free: readonly number[] = []
  let askedAt = Number.NEGATIVE_INFINITY
  const next = () => free.find((uid) => !taken.has(uid))
  return async () => {
    const known = performance.now() - askedAt < freshMs ? next() : undefined
    if (known !== undefined) return known
    for (let uid = from; uid <= to; ) {
      const asked: number[] = []
      for (; uid <= to && asked.length < askedAtOnce; uid += 1) if (!taken.has(uid)) asked.push(uid)
      // Without a number it would answer everybody.
      if (asked.length === 0) break
      const others = await takenIds(asked)
      free = asked.filter((one) => !others.has(one))
      askedAt = performance.now()
      if (free[0] !== undefined) return free[0]
    }
    throw unavailable(
      `All uids from ${from} to ${to} are taken.`,
      'Give projects a larger range with STACKQUAY_PROJECT_UIDS.',
    )
  }
}

const askedAtOnce = 64
/** As long as the machine is taken at its word. What is taken meanwhile, `useradd` refuses. */
const freshMs = 5_000

function namedAccount({ uid, gid, name, isOwner }: ProjectUser): Account {
  return { uid, gid, name, ...(isOwner ? { isOwner } : {}) }
}

/** The uid was fixed when the project was created: who has the name or the number by now is somebody else. */
function ownerStill(row: ProjectUser, now: SystemUser | null): Account {
  if (now !== null && now.uid === row.uid && now.gid === row.gid) return namedAccount(row)
  throw unavailable(
    `The project runs as the user "${row.name}" (uid ${row.uid}), which ${now === null ? 'is gone' : `has uid ${now.uid} and group ${now.gid} now`}.`,
    'Restore the user with its numbers, or create the project again from its folder.',
  )
}

/** System V objects outlive the programs that made them. What is somebody else's the kernel refuses to remove. */
async function removeIpcObjects(account: Account): Promise<void> {
  await runAs(account, ['/usr/bin/ipcrm', '--all']).catch(() => undefined)
}

function unavailable(message: string, hint: string): EngineError {
  return new EngineError('engine_unavailable', message, { hint })
}
