import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Racers extends AsyncDisposable {
  /** Swaps done so far, as they say themselves. */
  swaps(): number
}

/**
 * Processes of a project's user that swap things of a folder for symbolic links which lead outside, as fast as they can, and fill
 * it with new ones. They end when the folder is gone.
 */
export async function race(root: string, outside: string, uid: number, count = 2): Promise<Racers> {
  const start = (name: string) =>
    spawn('/usr/bin/python3', ['-c', program, root, outside, name], {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(process.getuid?.() === 0 ? { uid, gid: uid } : {}),
    })
  // Before any of them swaps: what they begin with must not be written through a link of another.
  await once(start('files'), 'exit')
  const children = Array.from({ length: count }, (_, number) => start(String(number)))
  let swaps = 0
  for (const { stdout } of children)
    stdout.on('data', (chunk: Buffer) => {
      swaps += chunk.length
    })
  await Promise.all(children.map((child) => Promise.race([once(child.stdout, 'data'), once(child, 'exit')])))
  return { swaps: () => swaps, [Symbol.asyncDispose]: () => endAll(children) }
}

async function endAll(children: readonly ChildProcess[]): Promise<void> {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

/** renameat2(2) exchanges two names in one step: there is never a moment at which one is missing. */
const program = `
import ctypes, os, sys, itertools
root, outside, me = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
def swap(a, b):
    libc.renameat2(-100, os.fsencode(a), -100, os.fsencode(b), 2)
def attempt(act, *args):
    try: act(*args)
    except OSError: pass
def put(path, text):
    with open(path, 'w') as file: file.write(text)
os.umask(0o022)
# None of them lies behind another: the racers themselves never reach what is outside.
swapped = ('d', 'e', 'p/inner', 'stackquay.yml', 'results.xml', 'package.json', 'go.mod')
if me == 'files':
    for name in ('d', 'e', 'p'):
        attempt(os.makedirs, f'{root}/{name}/inner')
        for file in ('secret', 'inner/secret', 'results.xml', 'package.json'): attempt(put, f'{root}/{name}/{file}', 'inside')
    for name in swapped[3:]: attempt(put, f'{root}/{name}', 'name: inside')
    sys.exit()
pairs = [(f'{root}/{name}', f'{root}/.l-{me}-' + name.replace('/', '-')) for name in swapped]
for number, (_, link) in enumerate(pairs): attempt(os.symlink, outside if number < 3 else f'{outside}/secret', link)
for count in itertools.count():
    for name, link in pairs: swap(name, link)
    if count % 16 == 0:
        attempt(os.makedirs, f'{root}/new-{me}-{count % 64}/deep')
        attempt(put, f'{root}/new-{me}-{count % 64}/deep/file', 'inside')
    if count % 1000 == 0:
        if not os.path.lexists(root): break
        os.write(1, b'.')
`
