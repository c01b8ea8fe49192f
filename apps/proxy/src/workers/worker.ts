import type { Server as NetServer } from 'node:net'
import { factsOfLine, type Lines } from '../access/line-page.ts'
import { createRecorder } from '../access/recorder.ts'
import type { Entered, Redeem } from '../codes.ts'
import { log } from '../log.ts'
import { withChanges } from '../route-changes.ts'
import { indexRoutes } from '../route-index.ts'
import type { GivenCertificates } from '../tls/front.ts'
import type { Answers, Asked, Order, Redeemed, Report } from './messages.ts'
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
  const asking = askForCodes(send)
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

  const acts: Acts = {
    begin: ({ limits, table }) => {
      const wanted = (project: string, isWanted: boolean) => send({ wanted: { project, isWanted } })
      const own = { limits, note: recorder.note, withShareListeners: false, wanted, redeem: asking.redeem }
      serving = createServing(indexRoutes(table), own)
      return null
    },
    listen: (_order, socket) => listen(serving!.server, socket),
    'listen-https': (_order, socket) => listen(serving!.https, socket),
    certificates: ({ given }) => useCertificates(serving!, given),
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

  process.on('message', (message: Asked | Redeemed, socket: unknown) => {
    if ('redeemed' in message) {
      asking.answered(message.redeemed)
      return
    }
    const { turn, order } = message
    const act = acts[order.kind] as (order: Order, socket: unknown) => Answer | Promise<Answer>
    const answer = act(order, socket)
    if (answer instanceof Promise) void answer.then((late) => send({ turn, answer: late }))
    else send({ turn, answer })
  })
  process.on('disconnect', () => void end())
  // They are sent to the whole group; the main process says what is to be done.
  process.on('SIGTERM', () => {})
  process.on('SIGINT', () => {})
  process.on('uncaughtException', (error) => log('fault', { pid: process.pid, reason: error.stack ?? String(error) }))
}

function listen(server: NetServer, socket: unknown): null {
  server.listen(socket as NetServer, 1024)
  return null
}

async function useCertificates(serving: Serving, given: GivenCertificates): Promise<null> {
  // A buffer is another kind of bytes when it has come through the channel.
  await serving.useCertificates({ ...given, ticketKeys: Buffer.from(given.ticketKeys) })
  return null
}

type Answer = Answers[Order['kind']]
type Acts = {
  [Kind in Order['kind']]: (
    order: Extract<Order, { kind: Kind }>,
    socket: unknown,
  ) => Answers[Kind] | Promise<Answers[Kind]>
}

/** Codes are known to the main process alone, so that each is good for one request, whoever gets it. */
function askForCodes(send: (report: Report) => void): {
  readonly redeem: Redeem
  answered(answer: Redeemed['redeemed']): void
} {
  const open = new Map<number, (entered: Entered | null) => void>()
  let turns = 0
  return {
    redeem: (hash, host) => {
      turns += 1
      const turn = turns
      const { promise, resolve } = Promise.withResolvers<Entered | null>()
      const late = setTimeout(() => resolve(null), redeemWithin)
      open.set(turn, resolve)
      send({ redeem: { turn, hash, host } })
      return promise.finally(() => {
        clearTimeout(late)
        open.delete(turn)
      })
    },
    answered: ({ turn, entered }) => open.get(turn)?.(entered),
  }
}

/** Whoever waited in vain signs in again. */
const redeemWithin = 5_000
