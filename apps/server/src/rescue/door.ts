import type { Socket } from 'node:net'
import { ProblemError } from '@stackquay/contract'
import { type RescueAnswer, RescueRequest } from './request.ts'
import { type RescueDeps, RescueError, rescue } from './rescue.ts'

/** The socket in the home, through which whoever has the host reaches the service that runs. The system lets nobody else open it. */
export interface HostDoor {
  accept(peer: Socket): void
  /** From here on it does what it is asked for. */
  open(deps: RescueDeps, onError: (error: unknown, what: string) => void): void
}

const mostBytes = 16 * 1024
const patience = 10_000

export function createHostDoor(): HostDoor {
  let inside: { deps: RescueDeps; onError: (error: unknown, what: string) => void } | null = null
  const answer = async (line: string): Promise<RescueAnswer> => {
    if (inside === null) return { ok: false, detail: 'The service is starting. Try again in a moment.' }
    try {
      const request = RescueRequest.parse(JSON.parse(line))
      return { ok: true, result: await rescue(request, inside.deps) }
    } catch (error) {
      if (error instanceof RescueError || error instanceof ProblemError) return { ok: false, detail: error.message }
      inside.onError(error, 'doing what the host asked for')
      return { ok: false, detail: 'It could not be done; the log of the service says why.' }
    }
  }
  return {
    open: (deps, onError) => {
      inside = { deps, onError }
    },
    accept: (peer) => {
      let text = ''
      peer.setEncoding('utf8').setTimeout(patience, () => peer.destroy())
      // Whoever only looks whether somebody is here says nothing and goes.
      peer.on('error', () => peer.destroy())
      const read = (chunk: string) => {
        text += chunk
        const end = text.indexOf('\n')
        if (end === -1 && text.length <= mostBytes) return
        peer.off('data', read)
        if (end === -1) return void peer.destroy()
        answer(text.slice(0, end)).then((said) => peer.end(`${JSON.stringify(said)}\n`))
      }
      peer.on('data', read)
    },
  }
}
