import type { Account } from '@stackquay/engines'
import type { ProjectUser, Store, Transaction, UserIds } from '@stackquay/store'
import { createFreeUids } from './free-uids.ts'

/** What is written down of the users of projects, in the store and here. */
export interface UserRecords {
  find(project: string): ProjectUser | undefined
  all(): readonly (readonly [project: string, row: ProjectUser])[]
  /** The next number, with a uid that nobody has. `before`: whose the project's files still are. */
  add(project: string, before: UserIds | null): Promise<ProjectUser>
  /** A project that runs as somebody’s own user. Part of the transaction that creates it. */
  adopt(tx: Pick<Transaction, 'projectUsers'>, project: string, owner: Account & { name: string }): Promise<void>
  /** The uid was taken meanwhile: it gets another that nobody has. */
  changeUid(row: ProjectUser): Promise<void>
  keepIds(row: ProjectUser, ids: UserIds): Promise<void>
  /** Its files are its own. */
  moved(row: ProjectUser): Promise<void>
  /** The project has no user any more; number and uid stay taken. */
  retire(project: string): Promise<void>
  /** The transaction that adopted it did not happen. */
  forget(project: string): void
}

export interface UserRecordsOptions {
  readonly store: Pick<Store, 'projectUsers' | 'transaction'>
  /** Tells this installation's users from those of another one on the machine. */
  readonly instance: string
  readonly uids: { readonly from: number; readonly to: number }
}

export async function openUserRecords({ store, instance, uids }: UserRecordsOptions): Promise<UserRecords> {
  const rows = new Map<string, ProjectUser>()
  const taken = new Set<number>()
  const remember = (row: ProjectUser) => {
    if (row.project !== null) rows.set(row.project, row)
    taken.add(row.uid)
  }
  for (const row of await store.projectUsers.all()) remember(row)

  const freeUid = createFreeUids(uids, taken)
  const inTurn = createTurns()
  const keepIds: UserRecords['keepIds'] = async (row, { uid, gid }) => {
    await store.transaction((tx) => tx.projectUsers.setIds(row.number, { uid, gid }))
    remember({ ...row, uid, gid })
  }

  return {
    find: (project) => rows.get(project),
    all: () => [...rows],
    add: (project, before) =>
      inTurn(async () => {
        const uid = await freeUid()
        const name = (number: number) => `s${instance.slice(0, 6)}-${number}`
        const row = await store.transaction((tx) => tx.projectUsers.add({ project, name, uid, gid: uid, before }))
        remember(row)
        return row
      }),
    adopt: async (tx, project, { name, uid, gid }) =>
      remember(await tx.projectUsers.add({ project, name: () => name, uid, gid, before: null, isOwner: true })),
    changeUid: (row) =>
      inTurn(async () => {
        const uid = await freeUid()
        await keepIds(row, { uid, gid: uid })
      }),
    keepIds,
    moved: async (row) => {
      await store.transaction((tx) => tx.projectUsers.setMoved(row.number))
      remember({ ...row, before: null })
    },
    retire: async (project) => {
      await store.transaction((tx) => tx.projectUsers.retire(project))
      rows.delete(project)
    },
    forget: (project) => void rows.delete(project),
  }
}

/** One after the other, so that two never find the same number free. */
function createTurns(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const mine = last.then(act, act)
    last = mine
    return mine
  }
}
