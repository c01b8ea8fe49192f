import { createDockerEngine } from '../src/docker/index.ts'
import { oneAccount } from '../src/native/accounts.ts'
import { never, remove, start, workloadOf } from './docker-workloads.ts'

/*
 * Runs in a container with Docker's socket, as a service that is installed so: starts a workload over a folder of its own
 * mounts, and prints what it saw.
 */

const [image = '', home = '', folder = '', outside = '', port = ''] = process.argv.slice(2)
const account = { uid: 48_211, gid: 48_211 }
const engine = await createDockerEngine({ home, host: null, accounts: oneAccount(account) })
const project = 'inside'
const run = (path: string) => ({
  kind: 'process' as const,
  argv: [
    'node',
    '-e',
    "const text = require('fs').readFileSync('told', 'utf8'); require('http').createServer((_, answer) => answer.end(text)).listen(8080)",
  ] as const,
  cwd: path,
  container: {
    image,
    build: null,
    user: `${account.uid}:${account.gid}`,
    network: project,
    folders: [{ path, readOnly: true }],
    data: {},
    limits: { cpus: null, memoryBytes: null, pids: null },
  },
})
const workload = (path: string) =>
  workloadOf(project, 'served', run(path), {
    ports: [{ name: 'http', port: 8080, hostPort: Number(port), bind: '127.0.0.1' }],
    health: { kind: 'http', port: 'http', path: '/', status: [200, 299], timeoutSeconds: 30 },
  })

try {
  const refused = await start(engine, workload(outside)).then(
    () => null,
    (error: { code?: string; hint?: string }) => ({ code: error.code, hint: error.hint }),
  )
  await start(engine, workload(folder))
  const address = await engine.address({ project, workload: 'served' }, 'http')
  const answer = address === null ? null : await fetch(`http://${address.host}:${address.port}/`)
  const [observed] = await engine.observe(project, never)
  const seen = { refused, address, answer: await answer?.text(), health: observed?.health }
  await remove(engine, workload(folder))
  console.log(JSON.stringify({ ...seen, left: await engine.projects(never) }))
} catch (error) {
  console.log(JSON.stringify({ error: String(error), hint: (error as { hint?: string }).hint }))
  process.exitCode = 1
} finally {
  await engine.close()
}
