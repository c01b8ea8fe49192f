import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { ProblemError } from '@stackquay/contract'
import type { Account } from '@stackquay/engines'

/** The processes of SFTP sessions: each costs memory, so there is a bound. */
export interface SftpPlaces {
  start(account: Account | null, root: string): Promise<ChildProcess>
  close(): Promise<void>
}

const most = 64

export function createSftpPlaces(start: (account: Account | null, root: string) => Promise<ChildProcess>): SftpPlaces {
  const running = new Set<ChildProcess>()
  let starting = 0
  return {
    async start(account, root) {
      if (running.size + starting >= most)
        throw new ProblemError('conflict', `${most} sessions of SFTP are open, and no more can be.`, {
          hint: 'Close one that nobody needs any more.',
        })
      starting += 1
      try {
        const child = await start(account, root)
        running.add(child)
        const gone = () => running.delete(child)
        child.once('close', gone)
        child.once('error', gone)
        return child
      } finally {
        starting -= 1
      }
    },
    async close() {
      const left = [...running]
      for (const child of left) child.kill('SIGKILL')
      await Promise.all(left.map((child) => once(child, 'close').catch(() => undefined)))
    },
  }
}
