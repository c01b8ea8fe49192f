import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SshChannel } from '../channel.ts'
import { BadFrameError, createLink, type Link, type LinkChannel } from './link.ts'
import { type Exit, type FromProtocol, fromProtocol, type ToProtocol, type WithHandle } from './messages.ts'

/** What one connection of the process is answered by. */
export interface ConnectionWires {
  decide(ask: number, accepted: boolean): void
  refuse(ask: number, why: string): void
  /** Ends the connection in order, and after a moment anyhow. */
  cut(): void
  open(channel: number): SshChannel
  closed(channel: number): void
  handForward(ask: number, socket: Socket): void
  handFiles(channel: number, end: 'in' | 'out', pipe: Socket): void
}

export interface ProtocolUses {
  readonly hostKey: string
  readonly version: string
  on(message: FromProtocol & { readonly connection: number }): void
  /** It ended, whyever: no connection is left. `why` when it should not have. */
  onEnd(why: string | null): void
}

/** The running process that speaks SSH. */
export interface ProtocolProcess {
  readonly pid: number | undefined
  give(connection: number, socket: Socket): void
  cut(connection: number, atOnce: boolean): void
  wiresOf(connection: number, cut: () => void): ConnectionWires
  /** What it did wrong; it is ended. */
  fault(why: string): void
  /** Resolves when it is gone. */
  end(): Promise<void>
}

export function superviseProtocol(child: ChildProcess, { hostKey, version, on, onEnd }: ProtocolUses): ProtocolProcess {
  const gone = Promise.withResolvers<void>()
  let [why, isOver]: [string | null, boolean] = [null, false]
  const over = () => {
    if (isOver) return
    isOver = true
    channels.end()
    onEnd(why)
    gone.resolve()
  }
  const fault = (text: string) => {
    why ??= text
    child.kill('SIGKILL')
  }
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < 2000) complaint += text
  })
  child.once('error', (error) => {
    why ??= String(error)
    over()
  })
  let ending = false
  child.once('exit', (code, signal) => {
    if (!ending) why ??= `it ended (${signal ?? code}): ${complaint.trim()}`
    over()
  })
  const link = createLink(child.stdio[3] as Duplex, {
    onMessage: (told) => {
      const message = fromProtocol.parse(told)
      if ('connection' in message) return on(message)
      const connection = channels.ownerOf(message.channel)
      // Of one that was closed here meanwhile nothing is to be said.
      if (connection !== undefined) on({ ...message, connection } as never)
    },
    onEnd: (error) => {
      if (error !== null) fault(`it broke the rules: ${error.message.slice(0, 300)}`)
      else child.kill('SIGKILL')
    },
  })
  const send = (message: ToProtocol) => link.send(message)
  const hand = (message: WithHandle, handle: Socket) => {
    if (!child.connected) return void handle.destroy()
    child.send(message, handle, (error) => {
      if (error !== null) handle.destroy()
    })
  }
  // Failures of handing something over are told by its end.
  child.on('disconnect', () => fault('it was cut off'))
  send({ is: 'begin', hostKey, version })

  const channels = createChannels(link, send)
  return {
    pid: child.pid,
    give: (connection, socket) => hand({ is: 'connection', connection }, socket),
    cut: (connection, atOnce) => send({ is: 'cut', connection, atOnce }),
    wiresOf: (connection, cut) => ({
      decide: (ask, accepted) => send({ is: 'decided', ask, accepted }),
      refuse: (ask, text) => send({ is: 'refused', ask, why: text.slice(0, 1000) }),
      cut,
      open: (channel) => channels.open(channel, connection),
      closed: (channel) => channels.closed(channel, connection),
      handForward: (ask, socket) => hand({ is: 'forward', ask }, socket),
      handFiles: (channel, end, pipe) => hand({ is: 'files', channel, end }, pipe),
    }),
    fault,
    end: async () => {
      ending = true
      child.kill('SIGKILL')
      await gone.promise
    },
  }
}

/** Each belongs to the connection that opened it. */
function createChannels(link: Link, send: (message: ToProtocol) => void) {
  const open = new Map<number, { readonly owner: number; readonly channel: LinkChannel }>()
  return {
    ownerOf: (id: number): number | undefined => open.get(id)?.owner,
    open: (id: number, owner: number): SshChannel => {
      let exit: Exit | null = null
      const channel = link.open(id, { beforeEnd: () => exit !== null && send({ is: 'exit', channel: id, exit }) })
      open.set(id, { owner, channel })
      channel.on('error', () => {})
      channel.once('close', () => {
        link.forget(id)
        if (open.delete(id)) send({ is: 'close', channel: id })
      })
      return Object.assign(channel, {
        exit: (how: Exit) => {
          exit = how
        },
      })
    },
    /** The client closed it. */
    closed: (id: number, owner: number): void => {
      const found = open.get(id)
      if (found?.owner !== owner) throw new BadFrameError('a channel of another connection')
      open.delete(id)
      found.channel.destroy()
    },
    end: (): void => {
      for (const { channel } of [...open.values()]) channel.destroy()
    },
  }
}
