import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { anyProject } from './accounts.ts'
import { errorCode } from './errors.ts'
import type { Machine } from './machine.ts'
import { may, unreachableAt } from './reach.ts'
import { exists } from './waiting.ts'

/** A program that came with this installation. */
export interface BundledProgram {
  /** As in `ToolchainQuery.name`: `node`, `postgresql`. */
  readonly name: string
  readonly version: string
  /** Absolute path of the program. */
  readonly program: string
  /** Absolute; holds the program and all that it needs. Left out: the program is one file. */
  readonly directory?: string
}

/**
 * The path at which the workload user can run the program. Where that user cannot come to it (an installation below
 * /root), it is brought once to `toolchains/<name>-<version>`: linked where possible, else copied.
 */
export async function reachableProgram(machine: Machine, bundled: BundledProgram): Promise<string> {
  const account = anyProject(machine.accounts)
  if ((await unreachableAt(bundled.program, account)) === null && (await may(bundled.program, account, 1)))
    return bundled.program
  const target = join(machine.home.toolchains, `${bundled.name}-${bundled.version}`)
  const inside =
    bundled.directory === undefined ? basename(bundled.program) : relative(bundled.directory, bundled.program)
  if (await exists(join(target, inside))) return join(target, inside)

  const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`
  try {
    if (bundled.directory === undefined) {
      await mkdir(temporary, { mode: 0o755 })
      await bringFile(await realpath(bundled.program), join(temporary, inside))
    } else {
      await bringTree(await realpath(bundled.directory), temporary)
    }
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    const other = errorCode(error) === 'ENOTEMPTY' || errorCode(error) === 'EEXIST'
    if (!other || !(await exists(join(target, inside)))) throw error
  }
  return join(target, inside)
}

async function bringTree(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o755 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    if (entry.isDirectory()) await bringTree(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else if (entry.isFile()) await bringFile(source, target)
  }
}

/** A link shares the file's permissions, so it is used only where they let any user read. */
async function bringFile(from: string, to: string): Promise<void> {
  const { mode } = await stat(from)
  const readable = (mode & 0o004) !== 0 && ((mode & 0o100) === 0 || (mode & 0o001) !== 0)
  if (readable) {
    const linked = await link(from, to).then(
      () => true,
      () => false,
    )
    if (linked) return
  }
  await copyFile(from, to, constants.COPYFILE_FICLONE)
  const { mode: copied } = await lstat(to)
  await chmod(to, (copied & 0o100) !== 0 ? 0o755 : 0o644)
}
