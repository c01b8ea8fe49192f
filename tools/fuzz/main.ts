import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { apiPrefix, operationList } from '@stackquay/contract'
import type { Account, Counts } from './account.ts'

// Sends the whole API what a schema-aware fuzzer can think of, as everybody who may knock: no answer may be a 5xx, and none
// may differ from what openapi.json promises. `npm run fuzz`; `-- --quick` for a run of less than two minutes;
// `-- --seed=7` repeats a run.

const [schemathesis = '', ...args] = process.argv.slice(2)
const quick = args.includes('--quick')
const seed = args.find((arg) => arg.startsWith('--seed='))?.slice(7) ?? String(Date.now() % 1_000_000)
const examples = quick ? 1 : 40
const leastRequests = quick ? 3_000 : 10_000

const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]

interface Part {
  readonly as: string
  readonly headers: (account: Account) => Readonly<Record<string, string>>
  /** The project that stands for every `{id}`; without it ids are random. */
  readonly project?: (account: Account) => string
  /** Operations that would end the part for itself. */
  readonly without?: readonly string[]
  /** Every edge of every schema besides random values. */
  readonly edges: boolean
}

/** What would send something to addresses or write in folders that the fuzzer invents, which may be somebody's. Their refusals have tests of their own. */
const sendsOut = ['createWebhook', 'updateWebhook', 'createBackupTarget']

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const parts: readonly Part[] = [
  { as: 'nobody', headers: () => ({}), edges: !quick },
  { as: 'an admin’s token', headers: ({ admin }) => bearer(admin), edges: !quick },
  {
    as: 'an admin’s token, on a project that is there',
    headers: ({ admin }) => bearer(admin),
    project: ({ project }) => project,
    edges: true,
  },
  { as: 'a restricted token', headers: ({ restricted }) => bearer(restricted), edges: !quick },
  {
    as: 'a restricted token, on its own project',
    headers: ({ restricted }) => bearer(restricted),
    project: ({ project }) => project,
    edges: !quick,
  },
  { as: 'an admin’s browser session', headers: ({ session }) => session, without: ['logout'], edges: !quick },
]

const folder = mkdtempSync(join(tmpdir(), 'stackquay-fuzzer-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
console.log(`Seed ${seed}.`)

let requests = 0
let broken = 0
for (const part of parts) {
  const service = await startService()
  const began = Date.now()
  const { code, output } = await fuzz(part, service.account)
  const { requests: sent, succeeded, failures } = await service.counts()
  await service.stop()
  requests += sent
  const ok = code === 0 && failures.length === 0
  if (!ok) broken += 1
  console.log(
    `${ok ? 'ok    ' : 'FAILED'} as ${part.as}: ${sent} requests (${succeeded} succeeded) in ${Math.round((Date.now() - began) / 1000)} s`,
  )
  if (!ok) console.log([...failures.map(shortened), ...output.split('\n').map(shortened)].join('\n'))
}
console.log(`${requests} requests in all.`)
if (requests < leastRequests) {
  console.log(`At least ${leastRequests} were to be sent: the fuzzer did not do its work.`)
  broken += 1
}
process.exit(broken === 0 ? 0 : 1)

async function fuzz(part: Part, account: Account): Promise<{ code: number | null; output: string }> {
  const config = join(folder, 'schemathesis.toml')
  const project = part.project?.(account)
  writeFileSync(config, project === undefined ? '' : `[parameters]\n"path.id" = ${JSON.stringify(project)}\n`)
  // Streams do not end, which a fuzzer takes for a hanging server, and it makes no body of bytes; both have tests of their own.
  const without = [
    ...operationList
      .filter(({ stream, bodyStream }) => stream !== undefined || bodyStream === true)
      .map(({ id }) => id),
    ...sendsOut,
    ...(part.without ?? []),
  ]
  const child = spawn(
    schemathesis,
    [
      `--config-file=${config}`,
      'run',
      `${account.url}${apiPrefix}/openapi.json`,
      `--phases=${part.edges ? 'coverage,fuzzing' : 'fuzzing'}`,
      `--max-examples=${examples}`,
      `--seed=${seed}`,
      `--checks=${checks.join(',')}`,
      // One: in Python 3.11 two threads that parse source at once, as the fuzzer does, now and then break each other’s parser.
      '--workers=1',
      '--request-timeout=30',
      '--generation-database=none',
      '--suppress-health-check=all',
      '--continue-on-failure',
      '--warnings=off',
      '--no-color',
      ...without.map((id) => `--exclude-operation-id=${id}`),
      ...Object.entries(part.headers(account)).map(([name, value]) => `--header=${name}:${value}`),
    ],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

/** Fuzzers send long lines, and say them again. */
function shortened(line: string): string {
  return line.length > 400 ? `${line.slice(0, 400)} … (${line.length} characters)` : line
}

async function startService() {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'service.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  process.once('exit', () => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const line = async () => {
    const next = await lines.next()
    if (next.done === true) throw new Error('The service for the fuzzer ended.')
    return JSON.parse(next.value) as unknown
  }
  return {
    account: (await line()) as Account,
    counts: async () => {
      child.stdin.write('\n')
      return (await line()) as Counts
    },
    stop: async () => {
      child.stdin.end()
      await ended
    },
  }
}
