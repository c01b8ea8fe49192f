import { execFile } from 'node:child_process'
import { chmod, chown, lchown, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stateFiles } from './state-files.ts'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * For root: the home stays root's, the proxy's user may pass through it, and has a folder of its own in there. Answers that
 * folder. What a proxy of root kept in the home before is given to the user. Root goes into the folder only while no process
 * else can, so there is nothing on the way that the proxy could have put there.
 */
export async function prepareDataFolder(home: string, owner: Owner): Promise<string> {
  const { data } = stateFiles(home)
  await ownHome(home, owner)
  const kept = await lstat(data).catch(() => null)
  if (kept === null) await makeData(home, data, owner)
  else if (kept.uid !== owner.uid) await giveOn(data, kept.uid, owner)
  return data
}

async function ownHome(home: string, { gid }: Owner): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 })
  const found = await lstat(home)
  if (!found.isDirectory() || found.uid !== 0) {
    // Its owner can change what stands in there at any moment, so root believes none of it.
    await rename(home, `${home}.of-user-${found.uid}-${Date.now()}`)
    await mkdir(home, { mode: 0o700 })
  }
  await chown(home, 0, gid)
  await chmod(home, 0o710)
}

/** Ended at any moment, the next start goes on: what has moved is moved, and the folder gets its name when all is in it. */
async function makeData(home: string, data: string, owner: Owner): Promise<void> {
  const unfinished = `${data}.new`
  const [before, now] = [stateFiles(home), stateFiles(unfinished)]
  await mkdir(unfinished, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  for (const name of ['routes', 'access'] as const) {
    await rename(before[name], now[name]).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
  await rm(before.codeCache, { recursive: true, force: true })
  for (const name of await readdir(unfinished)) await giveTree(join(unfinished, name), owner)
  await rename(unfinished, data)
  await chown(data, owner.uid, owner.gid)
}

/** Children before their folder. Only root can come here yet. */
async function giveTree(path: string, owner: Owner): Promise<void> {
  const found = await lstat(path)
  if (found.isDirectory()) for (const name of await readdir(path)) await giveTree(join(path, name), owner)
  await lchown(path, owner.uid, owner.gid)
}

/**
 * The user was made anew and has another number now. chown(1) goes by descriptors, follows no link, and changes only what
 * belonged to the one before.
 */
async function giveOn(data: string, from: number, { uid, gid }: Owner): Promise<void> {
  await promisify(execFile)('chown', ['-RhP', `--from=${from}`, `${uid}:${gid}`, data])
}
