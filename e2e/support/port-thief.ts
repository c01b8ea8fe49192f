import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

/**
 * What a program of a project would do to get somebody's port: in a loop, at each address that means this machine, with and
 * without the options that let sockets share. A socket that could only be bound is kept, and listens as soon as it can.
 */
const program = `
import itertools, json, socket, sys
ports = [int(text) for text in sys.argv[1:]]
places = [(socket.AF_INET, '127.0.0.1', 0), (socket.AF_INET, '0.0.0.0', 0), (socket.AF_INET6, '::1', 1),
          (socket.AF_INET6, '::', 1), (socket.AF_INET6, '::', 0), (socket.AF_INET6, '::ffff:127.0.0.1', 0)]
options = list(itertools.product((0, 1), (0, 1)))
kept, tries = [], 0
def say(what): print(json.dumps(what), flush=True)
while True:
  for port, (family, host, only), (address, shared) in itertools.product(ports, places, options):
    tries += 1
    one = socket.socket(family, socket.SOCK_STREAM)
    name = [host, port, 'reuseaddr' if address else '', 'reuseport' if shared else '']
    try:
      if family == socket.AF_INET6: one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)
      if address: one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
      if shared: one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
      one.bind((host, port))
      say({'bound': name})
      kept.append((one, name))
    except OSError:
      one.close()
  for one, name in kept:
    try:
      one.listen(16)
      say({'listens': name})
    except OSError: pass
  if tries % 480 == 0: say({'tries': tries})
`

export interface Thief {
  readonly process: ChildProcess
  /** What it could bind or listen at so far. */
  readonly got: readonly string[]
  tries(): number
  end(): Promise<void>
}

export const nobody = Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout)

/** Runs as another user than the service. */
export function startThief(ports: readonly number[], uid: number = nobody): Thief {
  const child = spawn('/usr/bin/python3', ['-c', program, ...ports.map(String)], {
    uid,
    gid: uid,
    cwd: '/',
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const got: string[] = []
  let tries = 0
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const said = JSON.parse(line) as { readonly tries?: number }
      if (said.tries === undefined) got.push(line)
      else tries = said.tries
    }
  })
  return {
    process: child,
    got,
    tries: () => tries,
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
