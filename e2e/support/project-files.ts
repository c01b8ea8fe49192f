import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { link, lstat, mkdir, open, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Filling {
  /** Bytes of the sparse file, of which the last three are there. */
  readonly sparseBytes?: number
  /** Small files besides, a hundred in a folder. */
  readonly smallFiles?: number
}

/** Links, modes, odd names, a hole, a database that is being written. All of it as whoever owns the folder. */
export async function fill(path: string, { sparseBytes = 64 << 20, smallFiles = 0 }: Filling = {}): Promise<void> {
  const { uid, gid } = await lstat(path)
  await mkdir(join(path, 'deep', 'er'), { recursive: true })
  await writeFile(join(path, 'deep', 'er', 'Zeile\numbruch und "Anführung" 🚢'), 'odd')
  await writeFile(join(path, 'run.sh'), '#!/bin/sh\n', { mode: 0o750 })
  await writeFile(join(path, `${'long-'.repeat(40)}name`), 'long')
  await symlink('/etc/passwd', join(path, 'outside'))
  await symlink('run.sh', join(path, 'inside'))
  await link(join(path, 'run.sh'), join(path, 'hard'))
  const sparse = await open(join(path, 'sparse'), 'w')
  await sparse.truncate(sparseBytes)
  await sparse.write('end', sparseBytes - 3)
  await sparse.close()
  for (let at = 0; at < smallFiles; at += 1) {
    const folder = join(path, 'small', String(Math.floor(at / 100)))
    if (at % 100 === 0) await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `${at}.txt`), `file ${at}\n`)
  }
  const database = new DatabaseSync(join(path, 'app.sqlite'))
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text)')
  for (let n = 0; n < 500; n += 1) database.prepare('INSERT INTO notes VALUES (?)').run(`note ${n}`)
  database.close()
  await run('chown', ['-Rh', `${uid}:${gid}`, path])
}

/** Names, kinds, modes, targets and contents of all that is in a folder; of a database and a hole no more than there is. */
export async function treeOf(path: string): Promise<readonly string[]> {
  const lines: string[] = []
  for (const name of (await readdir(path, { recursive: true })).sort()) {
    const found = await lstat(join(path, name))
    const mode = (found.mode & 0o7777).toString(8)
    if (name.startsWith('app.sqlite-')) continue
    if (found.isSymbolicLink()) lines.push(`${name} -> ${await readlink(join(path, name))}`)
    else if (found.isDirectory()) lines.push(`${name}/ ${mode}`)
    else if (name === 'app.sqlite') lines.push(`${name} ${mode}`)
    else if (name === 'sparse')
      lines.push(`${name} ${mode} ${found.size} ${found.blocks < 1000} ${await endOf(join(path, name))}`)
    else lines.push(`${name} ${mode} ${found.nlink} ${await hashOf(join(path, name))}`)
  }
  return lines
}

async function hashOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}

async function endOf(file: string): Promise<string> {
  const opened = await open(file)
  try {
    const { size } = await opened.stat()
    return (await opened.read(Buffer.alloc(3), 0, 3, size - 3)).buffer.toString()
  } finally {
    await opened.close()
  }
}
