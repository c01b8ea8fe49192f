import { spawn } from 'node:child_process'

/** Programs of a firewall are where only root writes, whatever the service's own PATH says. */
const PLACES = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'
const MOST_MS = 30_000
const MOST_ERRORS = 2000

/** Runs `nft` or one of the iptables family to its end and answers what it printed. Rejects with what is wrong, in one sentence. */
export function runFirewall(argv: readonly [string, ...string[]], input = ''): Promise<string> {
  const [program, ...args] = argv
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: '/',
      env: { PATH: PLACES, LC_ALL: 'C' },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: MOST_MS,
      killSignal: 'SIGKILL',
    })
    const texts = { output: '', errors: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      texts.output += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (texts.errors.length < MOST_ERRORS) texts.errors += text
    })
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(new FirewallError(program, error.code === 'ENOENT' ? 'it is not installed' : error.message, error.code)),
    )
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(texts.output)
      const said = firstLine(texts.errors)
      reject(new FirewallError(program, said || (signal === null ? `exit code ${code}` : `ended by ${signal}`)))
    })
    // A program that ends early says why by itself.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}

export class FirewallError extends Error {
  override readonly name = 'FirewallError'
  readonly program: string
  readonly isMissing: boolean
  constructor(program: string, what: string, code?: string) {
    super(`${program}: ${what}`)
    this.program = program
    this.isMissing = code === 'ENOENT'
  }
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.trim() ?? ''
}
