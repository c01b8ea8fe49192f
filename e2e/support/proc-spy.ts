import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { Account } from '@stackquay/engines'

export interface ProcSpy {
  /** Ends it. Which of the texts it found where, and how many times it looked at everything. */
  end(): Promise<{ readonly found: readonly string[]; readonly rounds: number }>
}

/**
 * A process of a user that reads what it can of all others, again and again: environment, arguments, and what lies in
 * pipes. The texts to look for come over its input, so that it does not find itself.
 */
export async function startProcSpy(
  script: string,
  account: Account | null,
  texts: readonly string[],
): Promise<ProcSpy> {
  await writeFile(script, source, { mode: 0o755 })
  const child = spawn('python3', [script], {
    cwd: '/',
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
  })
  const closed = once(child, 'close')
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stdin.write(`${JSON.stringify(texts)}\n`)
  await looked(child)
  return {
    end: async () => {
      child.stdin.end()
      await closed
      return JSON.parse(output.slice(output.indexOf('{'))) as { found: string[]; rounds: number }
    },
  }
}

/** Until it has begun. */
async function looked(child: ChildProcess): Promise<void> {
  await once(child.stdout!, 'data')
}

const source = `
import json, os, select, sys
texts = [text.encode() for text in json.loads(sys.stdin.readline())]
found, rounds, own = set(), 0, str(os.getpid())
def look(where, data):
    for number, text in enumerate(texts):
        if text in data: found.add("%d in %s" % (number, where))
def read(path, flags=os.O_RDONLY | os.O_NONBLOCK):
    try:
        descriptor = os.open(path, flags)
        try: return os.read(descriptor, 1 << 20)
        finally: os.close(descriptor)
    except OSError: return b""
def owner(pid):
    try: return os.stat("/proc/" + pid).st_uid
    except OSError: return os.getuid()
print("looking", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or pid == own: continue
        words = read("/proc/%s/cmdline" % pid)
        look("arguments", words)
        look("environment", read("/proc/%s/environ" % pid))
        # The pipes of its own user's programs it would empty, and nothing new would be seen in them.
        if b"git" in words and owner(pid) != os.getuid():
            try: open_ones = os.listdir("/proc/%s/fd" % pid)
            except OSError: open_ones = []
            for one in open_ones:
                if int(one) > 2: look("descriptor", read("/proc/%s/fd/%s" % (pid, one)))
    rounds += 1
print(json.dumps({"found": sorted(found), "rounds": rounds}), flush=True)
`
