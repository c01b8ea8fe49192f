import type { Server as NetServer } from 'node:net'
import { factsOfLine, type Lines } from '../access/line-page.ts'
import { createRecorder } from '../access/recorder.ts'
import { log } from '../log.ts'
import { withChanges } from '../route-changes.ts'
import { indexRoutes } from '../route-index.ts'
import type { Answers, Asked, Order, Report } from './messages.ts'
import { createServing, type Serving } from './serving.ts'

/** Bytes of the access log that may be on their way to the main process; what is more is dropped. */
const mostUnderWay = 8 * 1024 * 1024

/**
 * A worker: it serves like the main process, on the same listening socket, and does what that one orders. Without
 * the main process it accepts nothing more and ends, so that a new main process finds the address free.
 */
export function runWorker(): void {
  let serving: Serving | null = null
  let ending = false
  let underWay = 0
  let dropped = 0

  const send = (report: Report, sent?: () => void): void => {
    if (process.connected) process.send!(report, undefined, undefined, () => sent?.())
    else sent?.()
  }
  const deliver = ({ bytes, facts }: Lines) => {
    const size = bytes.length
    if (underWay + size > mostUnderWay) {
      dropped += facts.length / factsOfLine
      return
    }
    underWay += size
    // It is copied before this returns.
    send({ lines: { bytes, facts } }, () => {
      underWay -= size
    })
  }
  const recorder = createRecorder(deliver)
  const end = async (): Promise<void> => {
    if (ending) return
    ending = true
    serving?.stop()
    await serving?.drain()
    recorder.flush()
    // Behind the notes, so that they have left before the process ends.
    send({ lines: { bytes: Buffer.alloc(0), facts: new Float64Array() } }, () => process.exit(0))
  }

  const acts: { [Kind in Order['kind']]: (order: Extract<Order, { kind: Kind }>, socket: unknown) => Answers[Kind] } = {
    begin: ({ limits, table }) => {
      const wanted = (project: string, isWanted: boolean) => send({ wanted: { project, isWanted } })
      serving = createServing(indexRoutes(table), { limits, note: recorder.note, withShareListeners: false, wanted })
      return null
    },
    listen: (_order, socket) => {
      serving!.server.listen(socket as NetServer, 1024)
      return null
    },
    use: ({ table }) => {
      void serving!.use(table)
      return null
    },
    change: ({ changes }) => {
      void serving!.use(withChanges(serving!.table, changes))
      return null
    },
    count: () => ({ ...serving!.counts(), dropped }),
    flights: ({ host, port }) => serving!.flights(host, port),
    uses: () => serving!.uses(),
    stop: () => {
      void end()
      return null
    },
  }

  process.on('message', ({ turn, order }: Asked, socket: unknown) => {
    const act = acts[order.kind] as (order: Order, socket: unknown) => Answers[Order['kind']]
    send({ turn, answer: act(order, socket) })
  })
  process.on('disconnect', () => void end())
  // They are sent to the whole group; the main process says what is to be done.
  process.on('SIGTERM', () => {})
  process.on('SIGINT', () => {})
  process.on('uncaughtException', (error) => log('fault', { pid: process.pid, reason: error.stack ?? String(error) }))
}
