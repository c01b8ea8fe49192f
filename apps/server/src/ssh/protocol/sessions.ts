import { takesVariable } from '@stackquay/domain/ssh'
import type { PseudoTtyInfo, ServerChannel, Session } from 'ssh2'
import type { ChannelEar, ClientWires } from './client.ts'
import { joinFiles } from './files.ts'
import type { Exit, Start } from './messages.ts'

const mostVariables = 32
const terminalName = /^term_[a-z0-9]{1,40}$/

/** One session of a connection: a shell, a program or a subsystem, of which there is one at most. */
export function serveSession(session: Session, connection: number, wires: ClientWires): void {
  const env: Record<string, string> = {}
  let pty: PseudoTtyInfo | null = null
  let running: number | null = null
  const { send } = wires

  session.on('env', (accept, reject, { key, val }) => {
    const isKnown = takesVariable(key, val) && (key in env || Object.keys(env).length < mostVariables)
    if (isKnown) env[key] = val
    ;(isKnown ? accept : reject)?.()
  })
  session.on('pty', (accept, _reject, info) => {
    pty = info
    const { term } = info as PseudoTtyInfo & { readonly term?: string }
    if (term !== undefined && takesVariable('TERM', term)) env.TERM = term
    accept?.()
  })
  session.on('window-change', (accept, _reject, { cols, rows }) => {
    if (pty !== null) pty = { ...pty, cols, rows }
    if (running !== null) send({ is: 'resize', channel: running, cols, rows })
    accept?.()
  })
  session.on('signal', (accept, reject, { name }) => {
    if (running === null) return reject?.()
    send({ is: 'signal', channel: running, name: name.slice(0, 40) })
    accept?.()
  })

  const start = (channel: ServerChannel, program: Start['program']) => {
    running = wires.nextChannel()
    const size = pty === null ? null : { cols: pty.cols, rows: pty.rows }
    carry(channel, running, program.kind === 'files', wires)
    send({ is: 'start', connection, channel: running, program, env, pty: size })
  }
  session.on('shell', (accept) => start(accept(), { kind: 'shell' }))
  session.on('exec', (accept, _reject, { command }) => start(accept(), { kind: 'command', command }))
  session.on('subsystem', (accept, reject, { name }) => {
    if (name === 'sftp') return start(accept(), { kind: 'files' })
    if (terminalName.test(name) && pty !== null) return start(accept(), { kind: 'terminal', id: name })
    reject?.()
  })
}

/** What the program says goes to the client and back: by way of the service, or, of files, by the pipes that it hands over. */
function carry(channel: ServerChannel, id: number, isFiles: boolean, wires: ClientWires): void {
  let exit: Exit | null = null
  /** What has to be said before the end. */
  let left = 1
  const files = isFiles ? joinFiles(channel) : null
  const said = () => {
    left -= 1
    if (left > 0 || channel.destroyed || channel.writableEnded) return
    if (exit !== null && 'code' in exit) channel.exit(exit.code)
    else if (exit !== null) channel.exit(exit.signal, false, '')
    channel.end()
  }
  const near = wires.open(id, {
    onErrors: (bytes, taken) => {
      if (channel.destroyed || channel.writableEnded) taken()
      else channel.stderr.write(bytes, taken)
    },
  })
  near.once('end', said)
  near.on('error', () => {})
  near.pipe(channel, { end: false })
  if (!isFiles) channel.pipe(near)
  channel.on('error', () => {})
  channel.once('close', () => {
    files?.destroy()
    near.destroy()
    wires.forget(id)
    wires.channels.delete(id)
    wires.send({ is: 'closed', channel: id })
  })
  const ear: ChannelEar = {
    told: (message) => {
      if (message.is === 'close') channel.destroy()
      else exit = message.exit
    },
    given: (end, pipe) => {
      if (files === null) return void pipe.destroy()
      files.join(end, pipe)
      if (end === 'in') return
      left += 1
      pipe.once('close', said)
    },
  }
  wires.channels.set(id, ear)
}
