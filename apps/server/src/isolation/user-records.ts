import type { Account } from '@stackquay/engines'
import type { ProjectUser, Store, Transaction, UserIds } from '@stackquay/store'
import { createUidRange } from './uid-range.ts'

/** What is written down of the users of projects, in the store and here. */
export interface UserRecords {
  find(project: string): ProjectUser | undefined
  all(): readonly (readonly [project: string, row: ProjectUser])[]
  /** The next number, with a uid that nobody has. `before`: whose the project's files still are. */
  add(project: string, before: UserIds | null): Promise<ProjectUser>
  /** For a project that runs as somebody’s own user, from its creation on. */
  adopt(project: string, owner: Account & { name: string }): ChosenUser
  /** The uid was taken meanwhile: it gets another that nobody has. */
  changeUid(row: ProjectUser): Promise<void>
  keepIds(row: ProjectUser, ids: UserIds): Promise<void>
  /** Its files are its own. */
  moved(row: ProjectUser): Promise<void>
  /** The project has no user any more; number and uid stay taken. */
  retire(project: string): Promise<void>
  readonly spare: SpareRecords
}

/** Users that wait for projects which are still to be created. */
export interface SpareRecords {
  /** Those of an earlier service. It may have been killed before it added them. */
  readonly left: readonly ProjectUser[]
  /** So many more, or as many as there are uids for. */
  add(count: number): Promise<readonly ProjectUser[]>
  keepIds(row: ProjectUser, ids: UserIds): Promise<void>
  /** It waits no more; number and uid stay taken. */
  drop(row: ProjectUser): Promise<void>
  give(row: ProjectUser, project: string): ChosenUser
  /** Whether the service would give the uid to a project today. */
  isInRange(row: ProjectUser): boolean
}

/** A user for a project that is being created. */
export interface ChosenUser {
  /** Part of the transaction that creates the project. */
  give(tx: Pick<Transaction, 'projectUsers'>): Promise<void>
  /** After the transaction. */
  given(): void
  /** The creation did not happen. */
  back(): void
}

export interface UserRecordsOptions {
  readonly store: Pick<Store, 'projectUsers' | 'transaction'>
  /** Tells this installation's users from those of another one on the machine. */
  readonly instance: string
  readonly uids: { readonly from: number; readonly to: number }
}

export async function openUserRecords({ store, instance, uids: range }: UserRecordsOptions): Promise<UserRecords> {
  const rows = new Map<string, ProjectUser>()
  const uids = createUidRange(range)
  const remember = (row: ProjectUser) => {
    if (row.project !== null) rows.set(row.project, row)
    uids.remember(row.uid)
  }
  const stored = await store.projectUsers.all()
  for (const row of stored) remember(row)

  const name = (number: number) => `s${instance.slice(0, 6)}-${number}`
  /** Uids that were not written down are free again. */
  const withUids = async <T>(taken: readonly number[], write: (tx: Transaction) => Promise<T>): Promise<T> => {
    try {
      return await store.transaction(write)
    } catch (error) {
      uids.putBack(taken)
      throw error
    }
  }
  const keepIds: UserRecords['keepIds'] = async (row, { uid, gid }) => {
    await store.transaction((tx) => tx.projectUsers.setIds(row.number, { uid, gid }))
    remember({ ...row, uid, gid })
  }

  return {
    find: (project) => rows.get(project),
    all: () => [...rows],
    add: async (project, before) => {
      const uid = await uids.next()
      const row = await withUids([uid], (tx) => tx.projectUsers.add({ project, name, uid, gid: uid, before }))
      remember(row)
      return row
    },
    adopt: (project, { name: ownName, uid, gid }) =>
      chosenUser(remember, (tx) =>
        tx.projectUsers.add({ project, name: () => ownName, uid, gid, before: null, isOwner: true }),
      ),
    changeUid: async (row) => {
      const uid = await uids.next()
      await withUids([uid], (tx) => tx.projectUsers.setIds(row.number, { uid, gid: uid }))
      remember({ ...row, uid, gid: uid })
    },
    keepIds,
    moved: async (row) => {
      await store.transaction((tx) => tx.projectUsers.setMoved(row.number))
      remember({ ...row, before: null })
    },
    retire: async (project) => {
      await store.transaction((tx) => tx.projectUsers.retire(project))
      rows.delete(project)
    },
    spare: {
      left: stored.filter(({ isSpare }) => isSpare),
      add: async (count) => {
        const free = await uids.some(count)
        if (free.length === 0) return []
        return withUids(free, (tx) => addSpare(tx, free, name))
      },
      keepIds,
      drop: ({ number }) => store.transaction((tx) => tx.projectUsers.dropSpare(number)),
      give: (row, project) => giveSpare(row, project, remember),
      isInRange: ({ uid }) => uids.holds(uid),
    },
  }
}

async function addSpare(tx: Transaction, uids: readonly number[], name: (number: number) => string) {
  const added = []
  for (const uid of uids) added.push(await tx.projectUsers.addSpare({ name, uid, gid: uid }))
  return added
}

function giveSpare(row: ProjectUser, project: string, remember: (row: ProjectUser) => void): ChosenUser {
  return chosenUser(remember, async (tx) => {
    await tx.projectUsers.give(row.number, project)
    return { ...row, project, isSpare: false }
  })
}

/** Known once it is written down for good. */
function chosenUser(
  remember: (row: ProjectUser) => void,
  write: (tx: Pick<Transaction, 'projectUsers'>) => Promise<ProjectUser>,
): ChosenUser {
  let row: ProjectUser | null = null
  return {
    give: async (tx) => {
      row = await write(tx)
    },
    given: () => {
      if (row !== null) remember(row)
    },
    back: () => {},
  }
}
