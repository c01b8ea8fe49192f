import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of its own, as small as its options say, such as `size=4m` or `nr_inodes=8`. */
export interface SmallDisk {
  readonly path: string
  /** With other options, while it is in use. */
  change(options: string): void
  unmount(): void
}

/** On `at`, or on a new folder; null where this user may not mount one. */
export function smallDisk(options: string, at?: string): SmallDisk | null {
  const path = at ?? mkdtempSync(join(tmpdir(), 'stackquay-small-'))
  const mount = (more: string) => execFileSync('mount', ['-t', 'tmpfs', '-o', more, 'tmpfs', path], { stdio: 'pipe' })
  try {
    mount(`mode=0700,${options}`)
  } catch {
    if (at === undefined) rmSync(path, { recursive: true })
    return null
  }
  return {
    path,
    change: (more) => void mount(`remount,${more}`),
    unmount: () => {
      execFileSync('umount', [path])
      if (at === undefined) rmSync(path, { recursive: true })
    },
  }
}
