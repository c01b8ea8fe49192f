import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'

/** Beside what programs under test need for themselves. */
const leastFree = 8 * 1024 ** 3

/** Before the process whose folder it is, in the table of mounts. */
const mark = 'stackquay-test-'

/**
 * A folder for temporary files that lies in memory, or null where none can be had: it takes root, Linux and room. Tests make homes with
 * thousands of files and delete them again; on a disk they wait for it, and ext4 takes long to find a place for a new file that none has
 * left just now. It goes with this process.
 */
export function openMemoryFolder() {
  if (process.platform !== 'linux' || process.getuid() !== 0) return null
  // Whoever says where temporary files belong means it.
  if (process.env.TMPDIR !== undefined) return null
  closeAbandoned()
  const free = Math.min(os.freemem(), process.availableMemory?.() ?? Number.POSITIVE_INFINITY)
  if (free < leastFree) return null
  // Short: the path of a socket has at most 107 bytes.
  const path = mkdtempSync(join(os.tmpdir(), 'sq'))
  const options = `mode=1777,size=${Math.floor(free / 2)}`
  if (
    spawnSync('mount', ['-t', 'tmpfs', '-o', options, `${mark}${process.pid}`, path], { stdio: 'ignore' }).status !== 0
  ) {
    rmdirSync(path)
    return null
  }
  process.once('exit', () => close(path))
  return path
}

/** A run that was killed left its memory taken. */
function closeAbandoned() {
  for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
    const [source = '', path = ''] = line.split(' ')
    if (source.startsWith(mark) && !existsSync(`/proc/${source.slice(mark.length)}`)) close(path)
  }
}

function close(path) {
  // What still holds a file of it lets it go later; nothing new finds it.
  if (spawnSync('umount', [path], { stdio: 'ignore' }).status !== 0)
    spawnSync('umount', ['--lazy', path], { stdio: 'ignore' })
  try {
    rmdirSync(path)
  } catch {
    // Not unmounted: it is empty when the machine starts again.
  }
}
