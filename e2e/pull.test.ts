import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { lchown, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import type { OperationRecord, Plan, Problem, ProjectPatch, Snapshot } from '@stackquay/contract'
import { readHostKey } from '@stackquay/targets'
import { type SftpServer, startSftpServer, waitFor } from '@stackquay/testkit'
import mysql from 'mysql2/promise'
import { Client } from 'pg'
import { type Service, startService } from './support/service.ts'
import { startTargetStorage, type TargetStorage } from './support/target-storage.ts'

const id = 'shop'
const secretText = 'token-that-nobody-may-see-0123456789'

/** Databases and folders of elsewhere: over a real sshd, from a bucket, from a second service. */
describe('pulls', { concurrency: 1 }, () => {
  let service: Service
  let other: Service
  let remote: SftpServer
  let storage: TargetStorage
  let source: string
  let hostKey: string

  before(async () => {
    ;[service, other, remote, storage] = await Promise.all([
      startService(),
      startService(),
      startSftpServer(),
      startTargetStorage(),
    ])
    const databases = { main: { type: 'postgresql', version: '15' }, second: { type: 'mariadb' } }
    const body = { name: 'Shop', databases }
    const [made, live] = await Promise.all(
      [service, other].map((one) => one.client.call('createProject', { body, query: { wait: 170 } })),
    )
    for (const one of [made, live]) assert.equal(one?.operation?.state, 'succeeded', JSON.stringify(one?.operation))
    source = made!.path
    hostKey = await readHostKey(remote)
    await fill(other, live!.path)
    await postgres('CREATE TABLE mine AS SELECT 1 AS n')
    await mariadb('CREATE TABLE mine (n int)')
    await mkdir(join(source, 'storage', 'app'), { recursive: true })
    await writeFile(join(source, 'storage', 'app', 'mine.txt'), 'mine')
    await give(join(source, 'storage'))
    const token = await other.newToken('operate', [id])
    const secrets = {
      DEPLOY_KEY: remote.privateKey,
      STRANGE_KEY: remote.strangeKey,
      OTHER_TOKEN: token,
      WRONG_TOKEN: secretText,
      S3_KEY: storage.s3.accessKeyId,
      S3_SECRET: storage.s3.secretAccessKey,
    }
    await patched({
      env: Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, { value, secret: true }])),
    })
  })
  after(async () => {
    await Promise.all([service?.close(), other?.close(), remote?.[Symbol.asyncDispose](), storage?.end()])
  })

  const urlOf = async (db: string, of = service) => {
    const credentials = await of.client.call('getDatabaseCredentials', { params: { id, db } })
    return (credentials as { url: string }).url
  }
  const postgres = async (sql: string, of = service) => {
    const client = new Client(await urlOf('main', of))
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  const mariadb = async (sql: string, of = service) => {
    const client = await mysql.createConnection(await urlOf('second', of))
    try {
      return (await client.query(sql))[0] as readonly Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }
  const called = async <Body>(method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.url}/api/v1/projects/${id}${path}`, {
      method,
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }
  const patched = async (body: ProjectPatch) => {
    const answer = await called<Problem>('PATCH', '?wait=60', body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  const pull = (name: string, query = '?wait=150', parts?: readonly string[]) =>
    called<OperationRecord>(
      'POST',
      `/pull${query}`,
      { source: name, confirm: id, ...(parts && { parts }) },
      { 'if-match': '*' },
    )
  const pulled = async (name: string, parts?: readonly string[]) => {
    const answer = await pull(name, undefined, parts)
    assert.deepEqual([answer.status, answer.body.state], [200, 'succeeded'], JSON.stringify(answer.body))
    return answer.body
  }
  /** Before anything is touched, or with all put back. */
  const refused = async (name: string) => {
    const answer = await pull(name)
    if (answer.status !== 200) return answer.body as unknown as Problem
    assert.equal(answer.body.state, 'failed', JSON.stringify(answer.body))
    return answer.body.error as Problem
  }
  const planOf = async (name: string) => {
    const answer = await called<Plan>('POST', '/pull?dryRun=true', { source: name, confirm: '' })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.plan
  }
  const snapshots = async (db: string) =>
    (await called<{ items: Snapshot[] }>('GET', `/databases/${db}/snapshots`)).body.items
  const app = (...names: string[]) => join(source, 'storage', 'app', ...names)
  const left = async () => [
    ...(await readdir(join(service.home, 'dumps'))),
    ...(await readdir(join(source, '.stackquay')).catch(() => [])).filter((name) => name.startsWith('pull-')),
  ]
  const isMine = async () => {
    assert.deepEqual(await postgres('SELECT n FROM mine'), [{ n: 1 }])
    await mariadb('SELECT n FROM mine')
    assert.equal(await readFile(app('mine.txt'), 'utf8'), 'mine')
    assert.deepEqual(await left(), [])
  }
  const ssh = (more: object) => ({
    pull: {
      production: { from: `ssh://${remote.user}@127.0.0.1:${remote.port}`, key: 'DEPLOY_KEY', hostKey, ...more },
    },
  })

  it('a host key that nobody has looked at is told by the plan, and nothing is said to that machine', async () => {
    const files = { 'storage/app': remote.path }
    await patched(ssh({ hostKey: undefined, files }))
    const plan = await planOf('production')
    assert.ok(
      plan.warnings.some((text) => text.includes(hostKey)),
      JSON.stringify(plan.warnings),
    )
    const problem = await refused('production')
    assert.deepEqual(
      problem.errors?.map(({ pointer, code }) => [pointer, code]),
      [['/pull/production/hostKey', 'host_key_unknown']],
    )
    await patched(ssh({ hostKey: `SHA256:${'A'.repeat(43)}`, files }))
    assert.equal((await refused('production')).code, 'remote_changed')
    await patched(ssh({ key: 'STRANGE_KEY', files }))
    assert.equal((await refused('production')).code, 'remote_refused')
    await patched(ssh({ key: 'NO_SUCH', files }))
    assert.equal((await refused('production')).errors?.[0]?.code, 'secret_missing')
    await isMine()
  })

  it('a folder that the project’s user may not replace is told before anything is fetched', async () => {
    if (process.getuid?.() !== 0) return
    await mkdir(join(source, 'locked', 'inside'), { recursive: true })
    await patched(ssh({ files: { 'locked/inside': remote.path } }))
    assert.match((await refused('production')).detail ?? '', /may not write the folder "locked\/inside"/)
    await writeFile(join(source, 'locked', 'file'), '')
    await patched(ssh({ files: { 'locked/file': remote.path } }))
    assert.match((await refused('production')).detail ?? '', /is no folder/)
  })

  it('what is wrong there leaves everything as it is', async () => {
    await writeFile(
      join(remote.path, 'half.sql.gz'),
      gzipSync('CREATE TABLE book (n int);\n'.repeat(1000)).subarray(0, 60),
    )
    await writeFile(join(remote.path, 'bad.sql'), 'CREATE TABLE book (n int);\nSELECT broken;\n')
    await symlink('/dev/zero', join(remote.path, 'endless'))
    const cases: readonly (readonly [object, RegExp])[] = [
      [{ path: join(remote.path, 'half.sql.gz') }, /damaged or was cut off/],
      [{ path: join(remote.path, 'endless') }, /is no file/],
      [{ path: join(remote.path, 'missing.sql') }, /There is no/],
      [{ path: remote.path }, /is no file/],
      [
        { command: ['sh', '-c', 'echo "CREATE TABLE book (n int);"; echo "it is broken; rm -rf x" >&2; exit 3'] },
        /ended with 3: it is broken/,
      ],
      [{ command: ['echo', 'SELECT broken;'] }, /line 1/],
      [{ path: join(remote.path, 'bad.sql') }, /line 2/],
      [{ command: ['true'] }, /dump is empty/],
    ]
    for (const [from, expected] of cases) {
      await patched(ssh({ databases: { main: from }, files: { 'storage/app': remote.path } }))
      const { detail } = await refused('production')
      assert.match(detail ?? '', expected)
      await isMine()
    }
    // The second database fails when the first has been replaced.
    const databases = {
      main: { command: ['echo', 'CREATE TABLE theirs (n int);'] },
      second: { command: ['echo', 'CREATE TABLE theirs (n int); GARBAGE;'] },
    }
    await patched(ssh({ databases, files: { 'storage/app': remote.path } }))
    assert.match((await refused('production')).detail ?? '', /GARBAGE|syntax/i)
    assert.deepEqual(await postgres("SELECT FROM pg_class WHERE relname = 'theirs'"), [])
    await isMine()
    assert.deepEqual([...(await snapshots('main')), ...(await snapshots('second'))], [])
    await rm(join(remote.path, 'endless'))
  })

  it('words of a command arrive as they are; dumps of pg_dump and mysqldump and a folder come over ssh, with a way back', async () => {
    await mkdir(join(remote.path, 'app', 'deep', 'er'), { recursive: true })
    await writeFile(join(remote.path, 'app', 'deep', 'er', 'ü $(x).txt'), 'theirs')
    await writeFile(join(remote.path, 'app', 'big.bin'), Buffer.alloc(5_000_000, 'stackquay'))
    await symlink('/etc/passwd', join(remote.path, 'app', 'outside'))
    const url = new URL(await urlOf('second', other))
    const databases = {
      main: { command: ['pg_dump', '--no-owner', '--dbname', await urlOf('main', other)] },
      second: {
        command: [
          'mysqldump',
          ...['--protocol=tcp', `--host=${url.hostname}`, `--port=${url.port}`, `--user=${url.username}`],
          ...[`--password=${url.password}`, '--no-tablespaces', url.pathname.slice(1)],
        ],
      },
    }
    await patched(ssh({ databases, files: { 'storage/app': join(remote.path, 'app') } }))
    const plan = await planOf('production')
    assert.deepEqual([plan.deletesData, plan.restarts], [['postgresql-main', 'mariadb-second'], ['mariadb-second']])
    assert.match(JSON.stringify(plan.steps), /5\.0 MB.*what is there goes to \.stackquay/)
    const operation = await pulled('production')
    assert.match(JSON.stringify(operation.steps), /Left out.*outside/)
    assert.equal((await postgres('SELECT count(*)::int AS n FROM book'))[0]?.n, 3000)
    assert.equal((await mariadb('SELECT count(*) AS n FROM book'))[0]?.n, 3000)
    assert.equal(await readFile(app('deep', 'er', 'ü $(x).txt'), 'utf8'), 'theirs')
    assert.equal((await readFile(app('big.bin'))).length, 5_000_000)
    assert.deepEqual((await readdir(app())).sort(), ['big.bin', 'deep'])
    assert.deepEqual(await left(), [])

    const [kept] = await snapshots('main')
    assert.equal(kept?.source, 'before-pull')
    const aside = join(source, '.stackquay', 'before-pull', kept.name, 'storage', 'app', 'mine.txt')
    assert.equal(await readFile(aside, 'utf8'), 'mine')
    assert.equal(await readFile(join(source, '.stackquay', '.gitignore'), 'utf8'), '*\n')
    const back = await called<OperationRecord>(
      'POST',
      `/databases/main/snapshots/${kept.name}/restore?wait=150`,
      { confirm: 'main' },
      { 'if-match': '*' },
    )
    assert.equal(back.body.state, 'succeeded')
    assert.deepEqual(await postgres('SELECT n FROM mine'), [{ n: 1 }])

    const hostile = ["'; touch /tmp/stackquay-pwned; '", '$(touch /tmp/stackquay-pwned)', 'a b\\n', '`id`']
    const words = {
      command: [
        'printf',
        'CREATE TABLE words (t text); COPY words FROM stdin;\\n%s\\n%s\\n%s\\n%s\\n\\\\.\\n',
        ...hostile,
      ],
    }
    await patched(ssh({ databases: { main: words } }))
    await pulled('production')
    assert.deepEqual((await postgres('SELECT t FROM words')).map(({ t }) => t).slice(0, 2), hostile.slice(0, 2))
    await assert.rejects(readFile('/tmp/stackquay-pwned'))
  })

  it('from another Stackquay: a dump by its export, files of its newest backup', async () => {
    const from = { from: other.url, project: id, token: 'OTHER_TOKEN' }
    const files = { 'storage/app': 'storage/app' }
    await patched({ pull: { live: { ...from, databases: { main: { database: 'main' } }, files } } })
    assert.match((await refused('live')).detail ?? '', /has no backup with files/)
    const backup = await other.client.call('createBackup', {
      params: { id },
      body: { parts: ['files'] },
      query: { wait: 100 },
    })
    assert.ok('parts' in backup, JSON.stringify(backup))
    const plan = await planOf('live')
    assert.ok(plan.warnings.some((text) => /not encrypted/.test(text)))
    await pulled('live')
    assert.equal((await postgres('SELECT count(*)::int AS n FROM book'))[0]?.n, 3000)
    assert.deepEqual((await readdir(app())).sort(), ['inside', 'theirs.txt'])
    assert.equal(await readlink(app('inside')), 'theirs.txt')

    await patched({ pull: { live: { ...from, token: 'WRONG_TOKEN', databases: { main: { database: 'main' } } } } })
    const problem = await refused('live')
    assert.match(problem.detail ?? '', /answers 401/)
    await patched({ pull: { live: { ...from, databases: { main: { database: 'gone' } } } } })
    assert.match((await refused('live')).detail ?? '', /answers 404/)
    for (const address of ['http://169.254.169.254', 'http://[::ffff:169.254.169.254]']) {
      await patched({ pull: { live: { ...from, from: address, databases: { main: { database: 'main' } } } } })
      assert.match((await refused('live')).detail ?? '', /belongs to the machine itself/)
    }
  })

  it('from S3: an object, the newest below a prefix, and a folder of keys; keys that lead out are refused', async () => {
    const { endpoint, bucket, ...credentials } = storage.s3
    const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
    const put = (Key: string, Body: string | Buffer) => client.send(new PutObjectCommand({ Bucket: bucket, Key, Body }))
    await put('shop/db/1.sql', 'CREATE TABLE first (n int);')
    await new Promise((resolve) => setTimeout(resolve, 1100))
    await put('shop/db/2.sql.gz', gzipSync('CREATE TABLE newest (n int);'))
    await put('shop/app/a/b.txt', 'from a bucket')
    const from = { from: `s3://${bucket}/shop`, endpoint, accessKeyId: 'S3_KEY', secretAccessKey: 'S3_SECRET' }
    const files = { 'storage/app': 'app' }
    await patched({
      pull: { bucket: { ...from, databases: { main: { newest: 'db/' }, second: { path: 'db/1.sql' } }, files } },
    })
    assert.match(JSON.stringify((await planOf('bucket')).steps), /shop\/db\/2\.sql\.gz/)
    await pulled('bucket')
    assert.equal((await postgres("SELECT FROM pg_class WHERE relname = 'newest'")).length, 1)
    await mariadb('SELECT n FROM first')
    assert.equal(await readFile(app('a', 'b.txt'), 'utf8'), 'from a bucket')
    await put('shop/app/../../escaped.txt', 'out').catch(() => undefined)
    await patched({ pull: { bucket: { ...from, files: { 'storage/app': 'nothing' } } } })
    assert.match((await refused('bucket')).detail ?? '', /has nothing below/)
    client.destroy()
  })

  it('only what is named; cancelled or killed in the middle, the old data stays', async () => {
    const databases = {
      main: { command: ['sh', '-c', 'echo "CREATE TABLE slow (n int);"; sleep 600'] },
      second: { command: ['echo', 'CREATE TABLE only (n int);'] },
    }
    await patched(ssh({ databases }))
    await pulled('production', ['database:second'])
    await mariadb('SELECT n FROM only')
    const begun = await pull('production', '', ['database:main'])
    assert.equal(begun.status, 202)
    const fetching = () =>
      waitFor('the fetch', async () => {
        const { items } = await service.client.call('listOperations', { query: { active: true } })
        return items[0]?.steps[0]?.state === 'running'
      })
    await fetching()
    await service.client.call('cancelOperation', { params: { op: begun.body.id } })
    await waitFor(
      'its end',
      async () => (await service.client.call('listOperations', { query: { active: true } })).items.length === 0,
    )
    assert.deepEqual(await left(), [])

    assert.equal((await pull('production', '', ['database:main'])).status, 202)
    await fetching()
    await service.kill()
    await service.start()
    const [again] = (await service.client.call('listOperations', { query: { active: true } })).items
    assert.equal(again?.kind, 'pull')
    assert.equal((await postgres("SELECT FROM pg_class WHERE relname = 'newest'")).length, 1)
    await service.client.call('cancelOperation', { params: { op: again.id } })
    await waitFor(
      'its end',
      async () => (await service.client.call('listOperations', { query: { active: true } })).items.length === 0,
    )
    assert.equal((await postgres("SELECT FROM pg_class WHERE relname = 'newest'")).length, 1)
    assert.deepEqual(await left(), [])
  })

  it('killed while a dump is being loaded: the old rows or all of the new ones, and the pull says how it ended', async () => {
    const dump = join(remote.path, 'slow.sql')
    const rows = 'INSERT INTO loaded SELECT generate_series(1, 1000);'
    // Longer than it takes to see that it is being loaded, and to kill.
    await writeFile(
      dump,
      `CREATE TABLE loaded (n int); ${rows} SELECT pg_sleep(6); ${rows} CREATE TABLE last (n int);\n`,
    )
    await patched(ssh({ databases: { main: { command: ['cat', dump] } } }))
    await postgres('CREATE TABLE IF NOT EXISTS before_kill AS SELECT 7 AS n')
    const loading = (operation: string) =>
      waitFor('the load', async () => {
        const { steps } = await service.client.call('getOperation', { params: { op: operation } })
        return steps.some(({ id: step, state }) => step === 'load:main' && state === 'running')
      })
    const killed = async () => {
      const { body } = await pull('production', '', ['database:main'])
      await loading(body.id)
      await waitFor('its first statements', async () => {
        const busy = await postgres("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
        return busy.length > 0
      })
      await service.kill()
      return body.id
    }
    const ended = (operation: string) =>
      service.client.call('getOperation', { params: { op: operation }, query: { wait: 150 } })
    const tables = async () =>
      (await postgres("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")).map(({ name }) => name)

    // The other machine has lost it meanwhile: what was there comes back.
    const lost = await killed()
    await rename(dump, `${dump}.lost`)
    await service.start()
    const failed = await ended(lost)
    assert.deepEqual([failed.state, typeof failed.error?.detail], ['failed', 'string'], JSON.stringify(failed))
    assert.deepEqual(await postgres('SELECT n FROM before_kill'), [{ n: 7 }])
    assert.deepEqual([(await tables()).includes('loaded'), await left()], [false, []])

    await rename(`${dump}.lost`, dump)
    const again = await killed()
    await service.start()
    assert.equal((await ended(again)).state, 'succeeded')
    assert.deepEqual(await postgres('SELECT count(*)::int AS n FROM loaded'), [{ n: 2000 }])
    assert.deepEqual([(await tables()).sort(), await left()], [['last', 'loaded'], []])
    const [kept] = await snapshots('main')
    const way = `/databases/main/snapshots/${kept?.name}/restore?wait=150`
    const back = await called<OperationRecord>('POST', way, { confirm: 'main' }, { 'if-match': '*' })
    assert.equal(back.body.state, 'succeeded', JSON.stringify(back.body))
    assert.deepEqual(await postgres('SELECT n FROM before_kill'), [{ n: 7 }])
  })

  it('no secret is in answers, records, or what the service wrote', async () => {
    const texts = [
      JSON.stringify(await called('GET', '')),
      JSON.stringify(await service.client.call('listOperations', { query: { limit: 100 } })),
      JSON.stringify(await service.client.call('listAudit', { query: { limit: 100 } })),
      service.output(),
    ]
    for (const text of texts)
      for (const secret of [secretText, storage.s3.secretAccessKey, remote.privateKey.slice(50, 90)])
        assert.ok(!text.includes(secret))
  })

  it('stq pull shows the plan, needs the slug, and pulls one part', async () => {
    await patched(
      ssh({
        databases: { second: { command: ['echo', 'CREATE TABLE by_stq (n int);'] }, main: { command: ['false'] } },
      }),
    )
    const stq = (...words: string[]) => run([...words, '--confirm', id], service)
    const dry = await stq('pull', id, 'production', '--only', 'db:second', '--dry-run')
    assert.equal(dry.code, 0, dry.stderr)
    assert.match(dry.stdout, /Fetch MariaDB second from production/)
    const done = await stq('pull', id, 'production', '--only', 'db:second')
    assert.equal(done.code, 0, done.stderr)
    await mariadb('SELECT n FROM by_stq')
  })

  async function fill(of: Service, path: string): Promise<void> {
    await postgres('CREATE TABLE book AS SELECT n, md5(n::text) AS text FROM generate_series(1, 3000) n', of)
    await mariadb('CREATE TABLE book (n int)', of)
    await mariadb('INSERT INTO book SELECT seq FROM seq_1_to_3000', of)
    await mkdir(join(path, 'storage', 'app'), { recursive: true })
    await writeFile(join(path, 'storage', 'app', 'theirs.txt'), 'theirs')
    await symlink('theirs.txt', join(path, 'storage', 'app', 'inside'))
    await symlink('../../../secret', join(path, 'storage', 'app', 'outside'))
    await writeFile(join(path, 'other.txt'), 'not pulled')
  }

  /** To the user of the project, whose the source is. */
  async function give(folder: string): Promise<void> {
    const { uid, gid } = await stat(source)
    const entries = await readdir(folder, { recursive: true })
    for (const name of ['', ...entries]) await lchown(join(folder, name), uid, gid)
  }
})

const stqFile = fileURLToPath(new URL('../apps/cli/bin/stq', import.meta.url))

async function run(words: readonly string[], { url, token }: Service) {
  const env = { ...process.env, STACKQUAY_URL: url, STACKQUAY_TOKEN: token }
  const child = spawn(process.execPath, [stqFile, ...words], { env })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (text) => (output.stdout += text))
  child.stderr.on('data', (text) => (output.stderr += text))
  const code = await new Promise((resolve) => child.on('close', resolve))
  return { code, ...output }
}
