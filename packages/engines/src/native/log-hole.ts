import { spawn } from 'node:child_process'

const PATIENCE_MS = 20_000

/**
 * Gives the space of a file's first bytes back; they read as zeros, and everything behind them stays where it is, also
 * for the writer. Resolves to false where the file system or the system cannot.
 */
export type PunchHole = (path: string, bytes: number) => Promise<boolean>

/** Linux only: Node has no call for it, util-linux has a program, which also is there in small images. */
export const punchHole: PunchHole = (path, bytes) => {
  if (process.platform !== 'linux') return Promise.resolve(false)
  return new Promise((resolve) => {
    const argv = ['--punch-hole', '--offset', '0', '--length', String(bytes), path]
    const child = spawn('fallocate', argv, {
      stdio: 'ignore',
      timeout: PATIENCE_MS,
      killSignal: 'SIGKILL',
    })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}
