import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { processesInGroups } from '@stackquay/testkit'
import { refusal } from './support/refusal.ts'
import { startService, until } from './support/service.ts'
import { connect } from './support/socket-peer.ts'
import {
  nodeRuntime,
  type Outcome,
  openTrustWorld,
  type Probed,
  places,
  type TrustWorld,
} from './support/trust-world.ts'

type Level = 'user' | 'sandbox' | 'shared'

const refused: Row = { user: 'refused', sandbox: 'absent', shared: 'allowed' }
const served: Row = { user: 'refused', sandbox: 'absent', shared: 'refused' }
type Row = Readonly<Record<Level, Outcome>>

/** What a program of one project meets at another project and at the service. SECURITY.md says the same in words. */
const table: Readonly<Record<string, Row>> = {
  // Below the service's home, by its folders. What belongs to the service alone no project reaches on any level.
  'files: of the service': served,
  'files: commands': served,
  'files: compiled': served,
  'files: logs': served,
  'files: proxy': served,
  'files: run': served,
  'files: sources': served,
  'files: results': { user: 'refused', sandbox: 'refused', shared: 'allowed' },
  'files: data': refused,
  'files: projects': refused,
  'files: run-home': refused,
  'files: run-tmp': refused,
  'files: tools': refused,
  'new files: of the service': { user: 'refused', sandbox: 'refused', shared: 'refused' },
  'new files: toolchains': { user: 'refused', sandbox: 'refused', shared: 'refused' },
  'new files: commands': served,
  'new files: dumps': served,
  'new files: compiled': served,
  'new files: logs': served,
  'new files: proxy': served,
  'new files: run': served,
  'new files: sources': served,
  'new files: results': { user: 'refused', sandbox: 'refused', shared: 'refused' },
  'new files: data': refused,
  'new files: projects': { user: 'refused', sandbox: 'refused', shared: 'allowed' },
  'new files: run-home': { user: 'refused', sandbox: 'refused', shared: 'allowed' },
  'new files: run-tmp': { user: 'refused', sandbox: 'refused', shared: 'allowed' },
  'new files: tools': { user: 'refused', sandbox: 'refused', shared: 'allowed' },
  ...processRows('of the victim', refused),
  // They began as root: their own user may end them and see no more of them.
  ...processRows('holders of the victim', served),
  'processes holders of the victim: signal 0': refused,
  ...processRows('of the service', served),
  'processes of the victim: SIGTERM': refused,
  'processes of the victim: SIGKILL': refused,
  // Every user of a machine sees its processes and their command lines.
  'processes: listed': { user: 'allowed', sandbox: 'absent', shared: 'allowed' },
  'sockets: of the victim': refused,
  // The network is one for all: also the names of abstract sockets, which have no owner and no mode.
  'sockets: abstract, of the victim': { user: 'allowed', sandbox: 'allowed', shared: 'allowed' },
  'memory: shared, private to its user': refused,
  'memory: shared, open to all': { user: 'allowed', sandbox: 'absent', shared: 'allowed' },
  'memory: message queue': refused,
  '/tmp: names': { user: 'allowed', sandbox: 'absent', shared: 'allowed' },
  '/tmp: file private to its user': refused,
  '/tmp: file open to all': { user: 'allowed', sandbox: 'absent', shared: 'allowed' },
  '/dev/shm: names': { user: 'allowed', sandbox: 'absent', shared: 'allowed' },
  '/dev/shm: file private to its user': refused,
  '/dev/shm: file open to all': { user: 'allowed', sandbox: 'absent', shared: 'allowed' },
  'rights: set-user-ID program': { user: 'refused', sandbox: 'absent', shared: 'refused' },
  'rights: become root': { user: 'refused', sandbox: 'refused', shared: 'refused' },
}

function processRows(whose: string, row: Row): Record<string, Row> {
  const looks = ['environ', 'fd', 'mem', 'maps', 'cwd', 'root', 'exe', 'signal 0', 'ptrace', 'memory']
  return {
    ...Object.fromEntries(looks.map((look) => [`processes ${whose}: ${look}`, row])),
    [`processes ${whose}: command line`]: { user: 'allowed', sandbox: 'absent', shared: 'allowed' },
    // The file that is looked for is one that root alone may read.
    [`processes ${whose}: file system`]: { user: 'refused', sandbox: 'absent', shared: 'refused' },
  }
}

/** `ports` says itself whether it is there. */
function expected(level: Level, features: readonly string[]): Record<string, Outcome> {
  const rows = Object.entries(table).map(([cell, row]) => [cell, row[level]] as const)
  return {
    ...Object.fromEntries(rows),
    // A refused caller cannot tell the port from one where nobody listens.
    'ports: of the victim': features.includes('ports') ? 'absent' : 'allowed',
  }
}

const order: readonly Outcome[] = ['absent', 'refused', 'allowed']

/** Of each cell the worst outcome of all that was tried. */
function found({ cells }: Probed): Record<string, Outcome> {
  return Object.fromEntries(
    Object.entries(cells).map(([cell, attempts]) => [
      cell,
      attempts.map(({ outcome }) => outcome).reduce((a, b) => (order.indexOf(a) > order.indexOf(b) ? a : b)),
    ]),
  )
}

/** A cell of the machine that the kernel decides: refused or absent, never allowed. */
const kernelDecides = ['rights: files in a user namespace']

function assertTable(probed: Probed, level: Level, features: readonly string[]): void {
  const actual = found(probed)
  for (const cell of kernelDecides) {
    if (level !== 'shared') assert.notEqual(actual[cell], 'allowed', cell)
    delete actual[cell]
  }
  const all = expected(level, features)
  const wanted = Object.fromEntries(Object.keys(actual).map((cell) => [cell, all[cell] ?? 'not in the table']))
  const differing = Object.keys(actual).filter((cell) => actual[cell] !== wanted[cell])
  const details = differing.map((cell) => [
    cell,
    `wanted ${wanted[cell]}`,
    ...probed.cells[cell]!.filter(({ outcome }) => outcome === actual[cell]).slice(0, 5),
  ])
  assert.deepEqual(actual, wanted, JSON.stringify(details, null, 1))
}

/** Only root gives projects users of their own. */
const levels = process.getuid?.() === 0 ? (['user', 'sandbox'] as const) : []

for (const level of levels) {
  describe(`two projects on level ${level}`, () => {
    let world: TrustWorld
    before(async () => {
      world = await openTrustWorld({ STACKQUAY_ISOLATION: level })
    })
    after(() => world?.close())

    for (const place of places) {
      it(`from ${place}, every cell of the table is as it says, and the other project is as it was`, {
        timeout: 240_000,
      }, async () => {
        const before = await stateOfVictim(world)
        await world.aim()
        const probed = await world.probe(place)
        assertTable(probed, level, world.features)
        const zero = ['0'.repeat(16)]
        const { Uid, Gid, ...rest } = probed.self
        assert.deepEqual(rest, {
          Groups: [],
          CapInh: zero,
          CapPrm: zero,
          CapEff: zero,
          CapBnd: zero,
          CapAmb: zero,
          NoNewPrivs: ['1'],
        })
        for (const ids of [Uid!, Gid!]) assert.ok(new Set(ids).size === 1 && Number(ids[0]) >= 1000, String(ids))
        assert.equal(probed.umask, '0027')
        assert.deepEqual(await stateOfVictim(world), before)
      })
    }

    it('a token of one project may do nothing with the other one', async () => {
      const { client } = world.attacker
      const { items } = await client.call('listProjects', { query: { limit: 200 } })
      assert.deepEqual(
        items.map(({ slug }) => slug),
        ['attacker'],
      )
      const params = { id: 'victim' }
      for (const call of [
        () => client.call('getProject', { params }),
        () => client.call('stopProject', { params }),
        () => client.call('getProjectEnv', { params }),
        () => client.call('getProjectLogs', { params }),
        () => client.call('createTerminal', { params, body: {} }),
      ]) {
        const { status, code } = await refusal(call())
        assert.deepEqual([status, code], [403, 'project_forbidden'])
      }
    })

    it('programs that a repository names for git never run when the service looks at the source', {
      timeout: 120_000,
    }, async () => {
      const { path } = await world.project('attacker')
      const hooks = ['post-index-change', 'post-checkout', 'pre-commit', 'fsmonitor', 'reference-transaction']
      const script = [
        'set -e; git init -q .; mkdir -p .git/hooks; git add package.json',
        ...hooks.map(
          (name) =>
            `printf '%s\\n' '#!/bin/sh' 'echo ran >> "$0.ran"' > .git/hooks/${name}; chmod +x .git/hooks/${name}`,
        ),
        `git config core.fsmonitor ${path}/.git/hooks/fsmonitor`,
        `git config core.hooksPath ${path}/.git/hooks`,
        `git config core.pager ${path}/.git/hooks/fsmonitor`,
        'echo ready',
      ].join('\n')
      assert.match(await world.exec(['/bin/sh', '-c', script]), /ready/)
      const ran = async () => (await readdir(join(path, '.git/hooks'))).filter((name) => name.endsWith('.ran'))
      // They work when the project itself uses git.
      await world.exec(['git', 'status'])
      assert.ok((await ran()).includes('fsmonitor.ran'), String(await ran()))
      await world.exec(['/bin/sh', '-c', 'rm .git/hooks/*.ran'])
      await world.aim()
      await world.probe('test')
      await world.probe('action')
      await world.probe('workload')
      assert.deepEqual(await ran(), [])
    })

    it('who takes the port of a stopped project gets no request that was meant for it', {
      timeout: 120_000,
    }, async () => {
      const { client } = world.service
      const params = { id: 'victim' }
      const { status } = await client.call('getProject', { params })
      const ports = status.workloads.flatMap((workload) => workload.ports.map(({ hostPort }) => hostPort))
      await client.call('stopProject', { params, query: { wait: 60 } })
      const { id } = await world.attacker.client.call('createTerminal', {
        params: { id: 'attacker' },
        body: { command: ['/usr/bin/python3', '-c', takePorts, ...ports.map(String)] },
      })
      const file = join((await world.project('attacker')).path, 'taken')
      await until(() => readFile(file, 'utf8').then(Boolean, () => false), 'the ports to be taken', 60_000)
      assert.doesNotMatch((await world.service.get('victim')).body, /stolen/)
      const started = await client.call('startProject', { params, query: { wait: 60 } })
      const during = await world.service.get('victim')
      assert.doesNotMatch(during.body, /stolen/, JSON.stringify(started.error))
      await world.attacker.client.call('endTerminal', { params: { id: 'attacker', term: id } })
      const again = await client.call('startProject', { params, query: { wait: 60 } })
      assert.equal(again.state, 'succeeded', JSON.stringify(again.error))
      await until(async () => (await world.service.get('victim')).body === 'victim', 'the victim to answer again')
    })
  })
}

describe('two projects on level shared', () => {
  let world: TrustWorld
  before(async () => {
    world = await openTrustWorld(sharedByAll)
  })
  after(() => world?.close())

  it('everything of the other project is open and nothing of the service, as SECURITY.md says', {
    timeout: 240_000,
  }, async () => {
    await world.aim()
    const probed = await world.probe('exec')
    assertTable(probed, 'shared', world.features)
    assert.deepEqual(probed.self.CapEff, ['0'.repeat(16)])
    assert.deepEqual(probed.self.NoNewPrivs, ['1'])
  })
})

/** The folders that the service clears away when a project ends, with links in them to a folder that only root may change. */
describe('what the service removes as root', () => {
  for (const level of ['shared', ...levels]) {
    it(`never leads out of the project by a symbolic link, on level ${level}`, { timeout: 120_000 }, async () => {
      const env = level === 'shared' ? sharedByAll : { STACKQUAY_ISOLATION: level }
      await using stack = new AsyncDisposableStack()
      const outside = await mkdtemp(join(tmpdir(), 'stackquay-outside-'))
      stack.defer(() => rm(outside, { recursive: true }))
      const service = await startService({ env })
      stack.defer(() => service.close())
      await chmod(outside, 0o751)
      await writeFile(join(outside, 'precious'), 'precious')
      const body = { name: 'links', start: false, ...nodeRuntime }
      const { id } = await service.client.call('createProject', { body, query: { wait: 60 } })
      const script = `set -e
for folder in . "$HOME" "$TMPDIR"; do
  ln -s ${outside} "$folder/link"; mkdir -p "$folder/.cache/deep"; ln -s ${outside} "$folder/.cache/deep/link"
done
rm -rf "$HOME/.npm"; ln -s ${outside} "$HOME/.npm"
echo linked; sleep 600`
      const { id: term } = await service.client.call('createTerminal', {
        params: { id },
        body: { command: ['/bin/sh', '-c', script] },
      })
      const peer = await connect(service, `/projects/${id}/terminals/${term}/ws`)
      await peer.match(/linked/, 60_000)
      peer.close()
      await service.client.call('startProject', { params: { id }, query: { wait: 60 } }).catch(() => undefined)
      await service.client.call('endTerminal', { params: { id, term } })
      const removed = await service.client.call('deleteProject', {
        params: { id },
        query: { confirm: 'links', data: 'delete', wait: 60 },
      })
      assert.equal(removed.state, 'succeeded', JSON.stringify(removed.error))
      assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'precious')
      const { mode, uid } = await stat(outside)
      assert.deepEqual([mode & 0o777, uid, await readdir(outside)], [0o751, process.getuid?.(), ['precious']])
    })
  }
})

const takePorts = `
import http.server, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"stolen")
servers = [http.server.HTTPServer(("127.0.0.1", int(port)), Handler) for port in sys.argv[1:]]
for server in servers[1:]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
open("taken", "w").write("yes")
servers[0].serve_forever()
`

/** Root names a user; an ordinary user is the one itself. */
const sharedByAll: Readonly<Record<string, string>> =
  process.getuid?.() === 0
    ? { STACKQUAY_ISOLATION: 'shared', STACKQUAY_RUN_AS: '65534:65534' }
    : { STACKQUAY_ISOLATION: 'shared' }

/** Its processes, its files with their contents, what it answers, and that nobody wrote into its logs. */
async function stateOfVictim({ service, project }: TrustWorld) {
  const { id, path } = await project('victim')
  const logs = await service.client.call('getProjectLogs', { params: { id }, query: { limit: 1000 } })
  return {
    processes: processesInGroups(service.home, id).map(({ pid, command }) => `${pid} ${command}`),
    files: await hashesBelow(path),
    answer: (await service.get('victim')).body,
    forged: JSON.stringify(logs).includes('forged'),
  }
}

async function hashesBelow(folder: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    hashes[file] = createHash('sha256')
      .update(await readFile(file))
      .digest('hex')
  }
  return hashes
}
