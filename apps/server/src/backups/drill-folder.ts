import { randomBytes } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, makeGivenFolder, removeGivenFolder } from '@stackquay/engines'

/** An empty folder of the project's user, for files that are only to be looked at. It is gone when `use` has ended. */
export async function inDrillFolder<Result>(
  home: string,
  account: Account | null,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  await mkdir(above(home), { recursive: true, mode: 0o711 })
  const path = join(above(home), randomBytes(8).toString('hex'))
  try {
    await makeGivenFolder(path, account, 0o700)
    return await use(path)
  } finally {
    await removeGivenFolder(path)
  }
}

/** Those that a killed service left. Begun by its next start, and waited for by nobody. */
export async function sweepDrillFolders(home: string): Promise<() => Promise<void>> {
  const left = await readdir(above(home)).catch(() => [])
  return async () => {
    for (const name of left) await removeGivenFolder(join(above(home), name))
  }
}

function above(home: string): string {
  return join(home, 'drills')
}
