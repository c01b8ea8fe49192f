import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** How each file system is made in a file, and whether it shares blocks. */
export const fileSystems = {
  xfs: { make: ['mkfs.xfs', '-q'], shares: true },
  btrfs: { make: ['mkfs.btrfs', '-q'], shares: true },
  ext4: { make: ['mkfs.ext4', '-q', '-F'], shares: false },
} as const
export type FileSystem = keyof typeof fileSystems

/** A file system in a file behind a loop device, which is gone afterwards. Needs root. */
export async function mounted(name: FileSystem) {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-bench-'))
  await chmod(folder, 0o755)
  const [image, path] = [join(folder, 'image'), join(folder, name)]
  const [program, ...options] = fileSystems[name].make
  await writeFile(image, '')
  await truncate(image, 24 * 1024 ** 3)
  await run(program, [...options, image])
  await mkdir(path)
  await run('mount', ['-o', 'loop', image, path])
  await chmod(path, 0o777)
  return {
    path,
    async [Symbol.asyncDispose]() {
      await run('umount', [path])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
