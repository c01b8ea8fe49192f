import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { admin, type Service, startService, until } from './support/service.ts'

const execute = promisify(execFile)

/** Prints who it is; leaves a process behind that nothing but its control group or its namespace knows. */
const who = `const { spawn } = require('node:child_process')
const stray = spawn('setsid', ['sleep', '7777'], { detached: true, stdio: 'ignore', env: {} })
stray.unref()
require('node:http').createServer((request, response) => {
  const fs = require('node:fs')
  let home = 'hidden'
  try { home = fs.readFileSync(process.env.PERSON_HOME + '/letter', 'utf8') } catch {}
  try { fs.writeFileSync('made-by-project', 'x') } catch (error) { home += error.code }
  response.end(JSON.stringify({ uid: process.getuid(), home, stray: stray.pid, cwd: process.cwd() }))
}).listen(process.env.PORT)
`

interface Person {
  readonly name: string
  readonly uid: number
  readonly home: string
}

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
  readonly json: any
}

if (process.getuid?.() === 0) {
  for (const level of ['user', 'sandbox'] as const) {
    describe(`folders of a person, level ${level}`, { timeout: 300_000 }, () => {
      let service: Service
      let root: string
      let person: Person
      let session: (method: string, path: string, body?: object) => Promise<Answer>
      let token: typeof session

      before(async () => {
        root = await realpath(await mkdtemp(join(tmpdir(), 'stackquay-folders-')))
        await chmod(root, 0o755)
        person = await addPerson(root)
        service = await startService({ roots: root, env: { STACKQUAY_ISOLATION: level } })
        session = await sessionOf(service)
        token = caller(service, { authorization: `Bearer ${service.token}` })
      })
      after(async () => {
        await service?.close()
        await execute('pkill', ['-KILL', '-u', String(person.uid)]).catch(() => undefined)
        await execute('userdel', [person.name]).catch(() => undefined)
        await rm(root, { recursive: true, force: true })
      })

      const create = (ask: typeof session, name: string, path: string, more: object = {}) =>
        ask('POST', '/projects?wait=60', {
          name,
          path,
          node: { enabled: true, command: ['node', 'server.js'] },
          env: { PERSON_HOME: person.home },
          ...more,
        })
      const talk = async (slug: string) => {
        await until(async () => (await service.get(slug)).status === 200, `${slug} to answer`)
        return JSON.parse((await service.get(slug)).body) as { uid: number; home: string; stray: number }
      }
      const errorOf = ({ status, json }: Answer) => {
        assert.equal(status, 422, JSON.stringify(json))
        assert.ok(json.operation !== undefined, 'the creation itself failed, not its check')
        return json as { code: string; detail: string; hint: string }
      }
      const remove = (slug: string) => token('DELETE', `/projects/${slug}?confirm=${slug}&data=delete&wait=60`)
      const succeeded = ({ status, json }: Answer) =>
        assert.equal(json.operation?.state, 'succeeded', `${status} ${JSON.stringify(json)}`)

      afterEach(async () => {
        const { items } = await service.client.call('listProjects', {})
        for (const { slug } of items) await remove(slug)
      })

      it('a folder keeps its owner: the project’s own user gets an access list, and loses it with the project', async () => {
        const folder = await folderOf(person, root, 'kept')
        succeeded(await create(token, 'kept', folder))
        const answer = await talk('kept')
        assert.notEqual(answer.uid, person.uid)
        assert.ok(answer.uid >= 50_000, String(answer.uid))
        assert.equal((await stat(folder)).uid, person.uid)
        // What the project makes is open to the person.
        await asPerson(person, ['sh', '-c', 'echo y >> made-by-project'], folder)
        const project = (await execute('getent', ['passwd', String(answer.uid)])).stdout.split(':')[0]
        assert.match(await acl(folder), new RegExp(`^user:${project}:rwx`, 'm'))
        assert.equal((await remove('kept')).status, 200)
        assert.doesNotMatch(await acl(folder), new RegExp(`^(default:)?user:(${answer.uid}|${project}):`, 'm'))
        // From the trash it comes back with its user, who gets the folder again when it starts.
        const [item] = (await service.client.call('listTrash', {})).items
        await service.client.call('restoreTrash', { params: { item: item!.id } })
        assert.doesNotMatch(await acl(folder), new RegExp(`^user:${project}:`, 'm'))
        assert.equal((await token('POST', '/projects/kept/start?wait=60')).json.state, 'succeeded')
        assert.equal((await talk('kept')).uid, answer.uid)
        assert.match(await acl(folder), new RegExp(`^user:${project}:rwx`, 'm'))
      })

      it('a project that an administrator lets run as the owner does, and only its own processes end with it', async () => {
        const folder = await folderOf(person, root, 'mine')
        const mine = spawn('setpriv', [
          `--reuid=${person.uid}`,
          '--regid',
          String(person.uid),
          '--clear-groups',
          'sleep',
          '7776',
        ])
        try {
          succeeded(await create(session, 'mine', folder, { runAs: 'owner' }))
          assert.equal((await talk('mine')).uid, person.uid)
          assert.equal((await stat(join(folder, 'made-by-project'))).uid, person.uid)
          assert.doesNotMatch(await acl(folder), /^user:\w/m)
          assert.equal((await strays(person)).length, 1)
          assert.equal((await token('POST', '/projects/mine/stop?wait=60')).json.state, 'succeeded')
          assert.deepEqual(await strays(person), [])
          assert.equal(mine.exitCode ?? mine.signalCode, null, 'a process of the person was ended')
          assert.equal((await remove('mine')).status, 200)
          assert.equal((await execute('getent', ['passwd', person.name])).stdout.split(':')[2], String(person.uid))
          assert.equal(mine.exitCode ?? mine.signalCode, null, 'a process of the person was ended')
        } finally {
          mine.kill('SIGKILL')
        }
      })

      it(
        level === 'sandbox'
          ? 'a token may say it where the sandbox hides the owner’s home, and the project sees nothing of that home'
          : 'a token may not say it',
        async () => {
          const folder = await folderOf(person, person.home, 'inner')
          const answer = await create(token, 'inner', folder, { runAs: 'owner' })
          if (level === 'user') {
            assert.deepEqual([answer.status, answer.json.code], [403, 'session_required'])
            return
          }
          succeeded(answer)
          const seen = await talk('inner')
          assert.deepEqual([seen.uid, seen.home], [person.uid, 'hidden'])
          await remove('inner')
          const home = await create(token, 'home', person.home, { runAs: 'owner' })
          assert.deepEqual([home.status, home.json.code], [403, 'session_required'])
        },
      )

      it('nobody is run as root, as a user of the system, or without a folder', async () => {
        const refused = async (path: string | undefined, why: RegExp) => {
          const answer = await session('POST', '/projects', {
            name: 'No',
            ...(path === undefined ? {} : { path }),
            runAs: 'owner',
          })
          assert.deepEqual([answer.status, answer.json.code], [422, 'validation_failed'], JSON.stringify(answer.json))
          assert.equal(answer.json.errors[0].pointer, '/runAs')
          assert.match(answer.json.detail, why)
          assert.equal((await service.client.call('listProjects', {})).items.length, 0)
        }
        const roots = join(root, 'roots')
        await mkdir(roots, { mode: 0o755 })
        await refused(roots, /nothing of a project runs as root/)
        for (const [name, uid] of [
          ['daemon', 2],
          ['nobody', 65_534],
          ['nameless', 54_321],
        ] as const) {
          const folder = join(root, name)
          await mkdir(folder)
          await chown(folder, uid, uid)
          await refused(folder, /belongs to the system|has no user on this machine/)
        }
        await refused(undefined, /existing folder/)
      })

      it('a folder of root gets an access list while root alone can change it, and is refused with the command otherwise', async () => {
        const roots = join(root, 'roots-own')
        await mkdir(roots, { mode: 0o755 })
        await writeFile(join(roots, 'server.js'), who)
        succeeded(await create(token, 'roots-own', roots))
        assert.ok((await talk('roots-own')).uid >= 50_000)
        await remove('roots-own')

        const open = join(root, 'roots-open')
        await mkdir(join(open, 'shared'), { recursive: true })
        await chmod(join(open, 'shared'), 0o777)
        const answer = await create(token, 'roots-open', open)
        const error = errorOf(answer)
        assert.equal(error.code, 'path_forbidden', JSON.stringify(answer.json))
        assert.match(error.hint, /chown -R <user>: .* && chmod -R go-w /)
        assert.equal((await token('GET', '/projects/roots-open')).status, 404)
      })

      it('a closed parent is named with the command, which helps', async () => {
        const closed = join(root, 'closed')
        await mkdir(closed, { mode: 0o700 })
        await chown(closed, person.uid, person.uid)
        const folder = await folderOf(person, closed, 'deep')
        const answer = await create(token, 'deep', folder)
        const { code, detail, hint } = errorOf(answer)
        assert.equal(code, 'path_forbidden')
        assert.ok(detail.includes(`may not enter ${closed}.`), detail)
        assert.ok(hint.includes(`chmod o+x ${closed}.`), hint)
        assert.doesNotMatch(await acl(folder), /^user:\w/m, 'the folder was changed although nothing could come of it')
        const [, uid] = /setfacl -m u:(\d+):x /.exec(hint)!
        await assert.rejects(execute('getent', ['passwd', uid!]), 'the user of a creation that failed stays')
        await chmod(closed, 0o701)
        succeeded(await create(token, 'deep', folder))
        assert.ok((await talk('deep')).uid >= 50_000)
      })

      it('a file system without access lists says so', async () => {
        const mount = join(root, 'ramfs')
        await mkdir(mount)
        await execute('mount', ['-t', 'ramfs', 'none', mount])
        try {
          await chmod(mount, 0o755)
          const folder = await folderOf(person, mount, 'plain')
          const answer = await create(token, 'plain', folder)
          const { code, hint } = errorOf(answer)
          assert.equal(code, 'path_forbidden')
          assert.match(hint, /keeps no access lists/)
        } finally {
          await execute('umount', [mount])
        }
      })

      it('a folder through a symbolic link, and one that a project has, are refused', async () => {
        const folder = await folderOf(person, root, 'once')
        const link = join(root, 'link')
        await symlink(folder, link)
        const linked = await create(session, 'linked', link, { runAs: 'owner' })
        assert.equal(linked.json.code, 'path_forbidden')
        assert.match(linked.json.detail, /symbolic link/)
        succeeded(await create(session, 'once', folder, { runAs: 'owner', start: false }))
        const twice = await create(session, 'twice', folder, { runAs: 'owner' })
        assert.deepEqual([twice.status, twice.json.code], [409, 'conflict'])
        await remove('once')
      })

      it('the uid is fixed: a name that gets another number does not run', async () => {
        const folder = await folderOf(person, root, 'fixed')
        succeeded(await create(session, 'fixed', folder, { runAs: 'owner', start: false }))
        await service.stop()
        const other = person.uid + 1
        execFileSync('usermod', ['-u', String(other), person.name])
        try {
          await service.start()
          const started = await token('POST', '/projects/fixed/start?wait=60')
          assert.match(JSON.stringify(started.json), new RegExp(`has uid ${other} `))
        } finally {
          execFileSync('usermod', ['-u', String(person.uid), person.name])
        }
        await remove('fixed')
        assert.ok((await execute('getent', ['passwd', person.name])).stdout !== '')
      })
    })
  }
}

/** As `useradd` makes people, with a home that others may enter and a letter in it. */
async function addPerson(root: string): Promise<Person> {
  const name = `person${randomBytes(4).toString('hex')}`
  const home = join(root, name)
  // useradd would take the highest uid plus one, which is a project's.
  const uid = await freeUid()
  await execute('useradd', [
    '--no-log-init',
    '--uid',
    String(uid),
    '--user-group',
    '--create-home',
    '--home-dir',
    home,
    '--shell',
    '/bin/sh',
    name,
  ])
  await chmod(home, 0o755)
  await writeFile(join(home, 'letter'), 'a letter')
  await chown(join(home, 'letter'), uid, uid)
  return { name, uid, home }
}

async function freeUid(): Promise<number> {
  for (;;) {
    const uid = 20_000 + Math.floor(Math.random() * 10_000)
    const taken = await execute('getent', ['passwd', String(uid), String(uid + 1)]).catch(() => null)
    if (taken === null) return uid
  }
}

async function folderOf(person: Person, parent: string, name: string): Promise<string> {
  const folder = join(parent, name)
  await mkdir(folder, { mode: 0o750 })
  await writeFile(join(folder, 'server.js'), who)
  await execute('chown', ['-R', `${person.uid}:${person.uid}`, folder])
  return folder
}

const acl = async (path: string) => (await execute('getfacl', ['--absolute-names', path])).stdout

function asPerson({ uid }: Person, argv: string[], cwd: string) {
  return execute('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', ...argv], { cwd })
}

async function strays({ uid }: Person): Promise<readonly string[]> {
  const found = await execute('pgrep', ['-u', String(uid), '-f', '^sleep 7777']).catch(() => ({ stdout: '' }))
  return found.stdout.split('\n').filter((line) => line !== '')
}

async function sessionOf(service: Service) {
  const login = await fetch(`${service.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(admin),
  })
  const { csrfToken } = (await login.json()) as { csrfToken: string }
  return caller(service, { cookie: login.headers.get('set-cookie')!.split(';')[0]!, 'x-csrf-token': csrfToken })
}

function caller({ url }: Service, headers: Record<string, string>) {
  return async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
  }
}
