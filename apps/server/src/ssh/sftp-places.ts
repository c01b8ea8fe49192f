import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { ProblemError } from '@stackquay/contract'
import type { SftpProcess } from '@stackquay/engines'

export type SftpPlace = Omit<SftpProcess, 'compiled'>

/** The processes of SFTP sessions: each costs memory, so there is a bound. */
export interface SftpPlaces {
  start(place: SftpPlace): Promise<ChildProcess>
  close(): Promise<void>
}

const most = 64

export function createSftpPlaces(start: (place: SftpPlace) => Promise<ChildProcess>): SftpPlaces {
  const running = new Set<ChildProcess>()
  let starting = 0
  return {
    async start(place) {
      if (running.size + starting >= most)
        throw new ProblemError('conflict', `${most} sessions of SFTP are open, and no more can be.`, {
          hint: 'Close one that nobody needs any more.',
        })
      starting += 1
      try {
        const child = await start(place)
        running.add(child)
        const gone = () => running.delete(child)
        // Its pipes are handed on, so its end is all that is seen of it here.
        child.once('exit', gone)
        child.once('error', gone)
        return child
      } finally {
        starting -= 1
      }
    },
    async close() {
      const left = [...running]
      for (const child of left) child.kill('SIGKILL')
      await Promise.all(
        left.map((child) =>
          child.exitCode === null && child.signalCode === null ? once(child, 'exit').catch(() => undefined) : undefined,
        ),
      )
    },
  }
}

/** These send a link’s fields in the order of the draft to whoever is not OpenSSH; all others as OpenSSH does. */
export function sendsLinkFirst(software: string): boolean {
  return /^(ssh2js|libssh_|WinSCP)/.test(software)
}
