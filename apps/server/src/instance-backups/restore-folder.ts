import { existsSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The files of the state, in the order in which they are put in place: no restored database is there without its own checkpoint. */
const files = ['audit.checkpoint', 'stackquay.db'] as const
/** What SQLite keeps beside a database: taken away with it, for it would be taken for that of the next. */
const beside = ['stackquay.db-wal', 'stackquay.db-shm'] as const

/** Where a state is made ready that takes its place at the next opening. */
export interface StagedState {
  readonly database: string
  readonly checkpoint: string
  /** From now on it takes its place, whatever happens to this process. */
  commit(): Promise<void>
}

/** An empty folder for it; what an attempt left that was killed before its commit goes. */
export async function stageState(home: string): Promise<StagedState> {
  const unfinished = join(home, 'restore.new')
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { mode: 0o700 })
  return {
    database: join(unfinished, 'stackquay.db'),
    checkpoint: join(unfinished, 'audit.checkpoint'),
    commit: async () => {
      await sync(unfinished)
      await rename(unfinished, join(home, 'restore'))
      await sync(home)
    },
  }
}

/**
 * Puts a committed state in its place before a database is opened; the files of the state before are kept in `replaced`. Each step is
 * a rename of what is still to be moved. As long as the new database is still to be moved, all that lies in the home is the old state's, so a start
 * that is killed anywhere in between is gone on with by the next. Answers whether there was one.
 */
export async function takeStagedState(home: string): Promise<boolean> {
  const staged = join(home, 'restore')
  if (!existsSync(staged)) {
    await rm(join(home, 'restore.new'), { recursive: true, force: true })
    return false
  }
  const old = join(staged, 'replaced')
  await mkdir(old, { recursive: true, mode: 0o700 })
  for (const name of files) {
    if (!existsSync(join(staged, name))) continue
    for (const gone of name === 'stackquay.db' ? [name, ...beside] : [name])
      await move(join(home, gone), join(old, gone))
    await sync(old)
    await sync(home)
    await rename(join(staged, name), join(home, name))
    await sync(home)
  }
  await keep(old, home)
  await rm(staged, { recursive: true, force: true })
  return true
}

/** That of the restore before goes. */
async function keep(old: string, home: string): Promise<void> {
  if (!existsSync(join(old, 'stackquay.db'))) return
  await rm(join(home, 'replaced'), { recursive: true, force: true })
  await rename(old, join(home, 'replaced'))
  await sync(home)
}

async function move(from: string, to: string): Promise<void> {
  if (existsSync(from)) await rename(from, to)
}

/** A rename is on the disk when its folder is. */
async function sync(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
