import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** A place for folders of source code as a person has them: outside the service's home, allowed as a root. */
export interface SourceRoot extends AsyncDisposable {
  readonly path: string
  /** Makes a folder with these files, which belongs to a person, as root. */
  folder(name: string, files: Readonly<Record<string, string>>): Promise<string>
  remove(): Promise<void>
}

export async function makeSourceRoot(parent = tmpdir()): Promise<SourceRoot> {
  const path = await realpath(await mkdtemp(join(parent, 'stackquay-source-')))
  await chmod(path, 0o755)
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  return {
    path,
    folder: async (name, files) => {
      const folder = join(path, name)
      await mkdir(folder)
      for (const [file, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, file)), { recursive: true })
        await writeFile(join(folder, file), text)
      }
      await giveToProjects(folder)
      return folder
    },
    remove,
    [Symbol.asyncDispose]: remove,
  }
}

/** As root: what is in the folder belongs to a person of the machine, not to the project's user. */
export async function giveToProjects(folder: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  await execute('chown', ['-R', '1000:1000', folder])
}

/** A folder that nobody but root may enter. */
export async function closeToProjects(folder: string): Promise<void> {
  await chown(folder, 0, 0)
  await chmod(folder, 0o700)
}
