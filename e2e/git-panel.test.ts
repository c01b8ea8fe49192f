import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { freePort, makeKey, serveSsh, waitFor } from '@stackquay/testkit'
import { isRoot, processesBelow } from './support/git-lab.ts'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { refusal } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'
import { filesThatHold } from './support/traces.ts'

const execute = promisify(execFile)
const login = { username: 'grace', password: 'p4ss-w0rd-of-the-forge' }
const ada = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'safe.directory=*']

describe('git in a project', () => {
  let service: Service
  let git: GitServer
  let work: string
  let path: string
  let owner: { uid: number; gid: number }

  const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' }
  /** As the other people do: in a clone of theirs. */
  const theirs = async (...args: string[]) =>
    (await execute('git', [...ada, ...args], { cwd: join(work, 'clone'), env })).stdout
  /** In the project, as its user. */
  const mine = async (...args: string[]) =>
    (await execute('git', [...ada, ...args], { cwd: path, env, ...owner })).stdout.trim()
  const write = async (name: string, text: string) => {
    await writeFile(join(path, name), text)
    await chown(join(path, name), owner.uid, owner.gid)
  }
  const state = (id = 'page') => service.client.call('getGit', { params: { id } })
  type Act = 'fetchGit' | 'pullGit' | 'checkoutGit' | 'commitGit' | 'pushGit' | 'discardGit'
  const act = async (name: Act, body: object = {}, id = 'page') => {
    const operation = await service.client.call(name, {
      params: { id },
      query: { wait: 60 },
      ...(name === 'fetchGit' ? {} : { body }),
    } as never)
    return operation as unknown as {
      state: string
      error: { code: string; detail: string } | null
      steps: { output: string[] }[]
    }
  }
  const done = async (name: Act, body?: object, id?: string) => {
    const ended = await act(name, body, id)
    assert.equal(ended.state, 'succeeded', JSON.stringify(ended.error))
    return ended.steps.flatMap((step) => step.output).join('\n')
  }
  const fails = async (name: Act, body?: object, id?: string) => {
    const ended = await act(name, body, id)
    assert.equal(ended.state, 'failed', JSON.stringify(ended))
    return ended.error!
  }
  const publish = async (file: string, text: string, message: string) => {
    await theirs('pull', '--quiet')
    await writeFile(join(work, 'clone', file), text)
    await theirs('add', '--all')
    await theirs('commit', '--quiet', '--message', message)
    await theirs('push', '--quiet')
  }

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-panel-'))
    await chmod(work, 0o711)
    await mkdir(join(work, 'source'))
    await writeFile(join(work, 'source', 'read.me'), 'Hello\n')
    await publishRepository(join(work, 'source'), join(work, 'private.git'))
    await execute('git', ['config', 'http.receivepack', 'true'], { cwd: join(work, 'private.git') })
    await execute('git', ['clone', '--quiet', join(work, 'private.git'), join(work, 'clone')], { env })
    git = await serveGit(work, login)
    service = await startService()
    const url = git.url('private.git', `${login.username}:${login.password}`)
    const made = await service.client.call('createProject', {
      body: { name: 'Page', git: { url }, start: false },
      query: { wait: 60 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    path = made.path
    owner = await stat(path)
    owner = { uid: owner.uid, gid: owner.gid }
  })
  after(async () => {
    await service?.close()
    await git?.close()
    await rm(work, { recursive: true, force: true })
  })

  it('shows what is there: branch, changes, a diff, commits and branches', async () => {
    const clean = await state()
    assert.equal(clean.repository, true)
    assert.deepEqual([clean.branch, clean.upstream, clean.ahead, clean.behind], ['main', 'origin/main', 0, 0])
    assert.equal(clean.url, git.url('private.git'))
    assert.deepEqual(clean.credentials, { username: null, hasToken: true })
    await write('read.me', 'Hello, all\n')
    await write('new "file"\twith spaces\n.txt', 'new\n')
    const { changed } = await state()
    assert.deepEqual(
      changed.map(({ path: name, unstaged }) => [name, unstaged]),
      [
        ['read.me', 'modified'],
        ['new "file"\twith spaces\n.txt', 'untracked'],
      ],
    )
    const diff = await service.client.call('getGitDiff', { params: { id: 'page' }, query: { path: 'read.me' } })
    assert.match(diff.patch, /\n-Hello\n\+Hello, all\n/)
    assert.deepEqual([diff.files[0]!.added, diff.files[0]!.removed], [1, 1])
    const { items } = await service.client.call('getGitLog', { params: { id: 'page' } })
    assert.deepEqual([items[0]!.subject, items[0]!.author.name], ['First', 'Ada'])
    const branches = await service.client.call('listGitBranches', { params: { id: 'page' } })
    assert.deepEqual(branches.items.map(({ name, current }) => [name, current]).sort(), [
      ['main', true],
      ['origin/main', false],
    ])
  })

  it('discards what is named, and keeps it as a commit', async () => {
    const said = await done('discardGit', { paths: ['read.me', 'new "file"\twith spaces\n.txt'] })
    assert.deepEqual((await state()).changed, [])
    const ref = /refs\/stackquay\/discarded\/\S+/.exec(said)![0]
    assert.equal(await mine('show', `${ref}:read.me`), 'Hello, all')
    assert.equal(await mine('show', `${ref}:new "file"\twith spaces\n.txt`), 'new')
  })

  it('fetches and pulls with the password; a dirty tree is refused with what is dirty; both ways are told apart', {
    timeout: 60_000,
  }, async () => {
    await publish('second', 'two\n', 'Second')
    assert.match(await done('fetchGit'), /origin\/main: [0-9a-f]{10} → [0-9a-f]{10}/)
    assert.equal((await state()).behind, 1)
    await write('read.me', 'mine\n')
    const dirty = await refusal(service.client.call('pullGit', { params: { id: 'page' } }))
    assert.equal(dirty.code, 'git_refused')
    assert.deepEqual(dirty.changed, ['read.me'])
    await done('discardGit', { paths: ['read.me'] })
    await done('pullGit')
    assert.equal(await readFile(join(path, 'second'), 'utf8'), 'two\n')
    assert.deepEqual([(await state()).behind, (await state()).changed.length], [0, 0])
    assert.equal((await stat(join(path, 'second'))).uid, owner.uid)
  })

  it('commits as who asks, pushes, and lets no push run over what others pushed', { timeout: 120_000 }, async () => {
    await write('third', 'three\n')
    await write('left', 'not yet\n')
    await done('commitGit', { message: 'Third\n\n# not a comment', paths: ['third'] })
    assert.equal(await mine('log', '-1', '--format=%an %ae %B'), 'ada ada@localhost Third\n\n# not a comment')
    assert.deepEqual(
      (await state()).changed.map((one) => one.path),
      ['left'],
    )
    assert.equal((await state()).ahead, 1)
    await done('pushGit')
    await theirs('pull', '--quiet')
    assert.equal(await readFile(join(work, 'clone', 'third'), 'utf8'), 'three\n')
    assert.equal((await state()).ahead, 0)
    assert.match(await done('pushGit'), /as it is here/)

    await done('commitGit', { message: 'Left' })
    await publish('fourth', 'four\n', 'Fourth')
    const behind = await fails('pushGit')
    assert.equal(behind.code, 'git_refused')
    const unseen = await fails('pushGit', { force: true })
    assert.match(unseen.detail, /Somebody has pushed/)
    const split = await fails('pullGit')
    assert.match(split.detail, /1 commit here, 1 there/)
    await done('pullGit', { manner: 'merge' })
    assert.equal((await mine('log', '-1', '--format=%P')).split(' ').length, 2)
    await done('pushGit')

    await publish('read.me', 'theirs\n', 'Theirs')
    await write('read.me', 'ours\n')
    await done('commitGit', { message: 'Ours' })
    const conflict = await fails('pullGit', { manner: 'merge' })
    assert.match(conflict.detail, /read\.me/)
    assert.deepEqual((await state()).changed, [])
    assert.match(await done('pullGit', { manner: 'reset' }), /kept\/main-\d{14}/)
    assert.equal(await readFile(join(path, 'read.me'), 'utf8'), 'theirs\n')

    await theirs('pull', '--quiet')
    await theirs('reset', '--quiet', '--hard', 'HEAD~1')
    await theirs('push', '--quiet', '--force')
    await done('pullGit', { manner: 'reset' })
    assert.notEqual(await readFile(join(path, 'read.me'), 'utf8'), 'theirs\n')
    await mine('commit', '--quiet', '--amend', '--message', 'Rewritten')
    assert.equal((await fails('pushGit')).code, 'git_refused')
    await done('pushGit', { force: true })
    assert.equal(
      (await execute('git', ['log', '-1', '--format=%s', 'main'], { cwd: join(work, 'private.git') })).stdout.trim(),
      'Rewritten',
    )
  })

  it('checks branches out, makes them, and is right about a detached head', { timeout: 60_000 }, async () => {
    await theirs('switch', '--quiet', '-c', 'feature/one')
    await writeFile(join(work, 'clone', 'of-feature'), '1\n')
    await theirs('add', '--all')
    await theirs('commit', '--quiet', '--message', 'Feature')
    await theirs('push', '--quiet', 'origin', 'feature/one')
    await done('fetchGit')
    await done('checkoutGit', { branch: 'feature/one' })
    assert.equal(await readFile(join(path, 'of-feature'), 'utf8'), '1\n')
    await done('checkoutGit', { branch: 'topic', create: true })
    assert.equal((await state()).branch, 'topic')
    for (const branch of ['-f', '--orphan', 'a..b', '@{-1}', 'refs/../x', 'no-such']) {
      const error = await fails('checkoutGit', { branch })
      assert.equal(error.code, 'git_refused', branch)
    }
    await mine('switch', '--quiet', '--detach')
    const detached = await state()
    assert.deepEqual([detached.branch, detached.upstream], [null, null])
    assert.match((await fails('pullGit')).detail, /detached/)
    await done('checkoutGit', { branch: 'main' })
  })

  it('removes the lock of a git that was killed, and waits for nobody', { timeout: 60_000 }, async () => {
    await write('.git/index.lock', '')
    await write('fifth', '5\n')
    assert.match(await done('commitGit', { message: 'Fifth' }), /lock/)
    assert.ok(!(await readdir(join(path, '.git'))).includes('index.lock'))
  })

  it('executes nothing that the repository names', { timeout: 120_000 }, async () => {
    const mark = join(path, '..', `executed-${process.pid}`)
    const evil = join(path, 'evil.sh')
    await write('evil.sh', `#!/bin/sh\ntouch /tmp/${process.pid}-executed ${mark} "${path}/executed"\ncat\n`)
    await chmod(evil, 0o755)
    const hooks = join(path, 'hooks')
    await mkdir(hooks)
    for (const hook of [
      'pre-commit',
      'commit-msg',
      'post-commit',
      'post-checkout',
      'post-merge',
      'reference-transaction',
      'pre-push',
      'post-index-change',
      'prepare-commit-msg',
      'fsmonitor-watchman',
    ])
      for (const folder of [hooks, join(path, '.git', 'hooks')]) {
        await mkdir(folder, { recursive: true })
        await cp(evil, join(folder, hook))
      }
    await execute('chown', ['-R', `${owner.uid}:${owner.gid}`, hooks, join(path, '.git', 'hooks')])
    for (const [key, value] of [
      ['core.hooksPath', hooks],
      ['core.fsmonitor', evil],
      ['core.sshCommand', evil],
      ['core.editor', evil],
      ['core.pager', evil],
      ['core.askPass', evil],
      ['core.gitProxy', evil],
      ['core.alternateRefsCommand', evil],
      ['pager.log', evil],
      ['pager.status', evil],
      ['filter.evil.clean', evil],
      ['filter.evil.smudge', evil],
      ['filter.evil.process', evil],
      ['filter.evil.required', 'true'],
      ['diff.evil.textconv', evil],
      ['diff.evil.command', evil],
      ['diff.external', evil],
      ['merge.evil.driver', evil],
      ['gpg.program', evil],
      ['commit.gpgSign', 'true'],
      ['log.showSignature', 'true'],
      ['credential.helper', evil],
      ['alias.status', `!${evil}`],
      ['uploadpack.packObjectsHook', evil],
      ['remote.origin.uploadpack', evil],
      ['remote.origin.receivepack', evil],
      ['remote.origin.vcs', 'evil'],
      ['protocol.ext.allow', 'always'],
      ['url.ext::sh.insteadOf', 'http'],
      ['branch.main.mergeOptions', '--strategy=evil -S'],
      ['gc.auto', '1'],
      ['maintenance.auto', 'true'],
      ['core.worktree', '/'],
      ['include.path', join(path, 'more')],
    ] as const)
      await mine('config', key, value)
    await write('more', `[filter "more"]\n\tclean = ${evil}\n\tsmudge = ${evil}\n[core]\n\tfsmonitor = ${evil}\n`)
    await write(
      '.gitattributes',
      '*.bin filter=evil diff=evil merge=evil\n*.more filter=more\nread.me diff=evil merge=evil\n',
    )
    await write('some.more', 'more\n')
    await write('read.me', 'changed under evil\n')
    await state()
    for (const query of [{}, { path: 'read.me' }, { staged: 'true' as const }, { path: 'some.more' }])
      await service.client.call('getGitDiff', { params: { id: 'page' }, query })
    await service.client.call('getGitLog', { params: { id: 'page' } })
    assert.match(
      (await fails('commitGit', { message: 'Filtered', paths: ['some.more'] })).detail,
      /go through a filter/,
    )
    assert.equal((await fails('commitGit', { message: 'Filtered' })).code, 'git_refused')
    await done('commitGit', { message: 'Under evil', paths: ['read.me', '.gitattributes', 'evil.sh', 'more', 'hooks'] })
    await done('discardGit', { paths: ['executed'] })
    await rm(join(path, 'some.more'))
    await theirs('switch', '--quiet', 'main')
    await theirs('pull', '--quiet', '--rebase')
    await publish('x.bin', 'bin\n', 'Binary')
    await done('fetchGit')
    await done('pullGit', { manner: 'merge' })
    await done('pushGit')
    await done('checkoutGit', { branch: 'topic' })
    await done('checkoutGit', { branch: 'main' })
    await write('read.me', 'again\n')
    await done('discardGit', { paths: ['read.me'] })
    for (const folder of [path, join(path, '..'), '/tmp'])
      assert.deepEqual(
        (await readdir(folder)).filter((name) => name.includes('executed')),
        [],
      )
    const config = await readFile(join(path, '.git', 'config'), 'utf8')
    assert.ok(config.includes('evil'), 'the configuration was there all the time')
  })

  it('follows no .git that leads elsewhere, and says so', { timeout: 60_000 }, async () => {
    const made = await service.client.call('createProject', {
      body: { name: 'Bare', start: false },
      query: { wait: 60 },
    })
    const none = await state('bare')
    assert.deepEqual([none.repository, none.url], [false, null])
    assert.match(none.reason!, /no git repository/)
    assert.equal((await refusal(service.client.call('getGitLog', { params: { id: 'bare' } }))).code, 'not_found')
    await symlink(join(path, '.git'), join(made.path, '.git'))
    assert.match((await state('bare')).reason!, /a link/)
    await rm(join(made.path, '.git'))
    await writeFile(join(made.path, '.git'), `gitdir: ${join(path, '.git')}\n`)
    assert.match((await state('bare')).reason!, /a file/)
    assert.equal((await refusal(service.client.call('fetchGit', { params: { id: 'bare' } }))).code, 'not_found')
  })

  it('keeps the token sealed, for the server that it was given for', { timeout: 60_000 }, async () => {
    const params = { id: 'page' }
    const other = await refusal(
      service.client.call('putGit', { params, body: { url: 'http://127.0.0.1:9/private.git' } }),
    )
    assert.equal(other.code, 'validation_failed')
    const set = await service.client.call('putGit', {
      params,
      body: { url: git.url('private.git'), username: 'grace', token: 'a-wrong-token-of-mine' },
    })
    assert.deepEqual(set.credentials, { username: 'grace', hasToken: true })
    const error = await fails('fetchGit')
    assert.equal(error.code, 'source_failed')
    assert.ok(!JSON.stringify(error).includes('a-wrong-token'), JSON.stringify(error))
    await service.client.call('putGit', {
      params,
      body: { url: git.url('private.git'), username: 'grace', token: login.password },
    })
    await done('fetchGit')
    assert.deepEqual(await filesThatHold(work, [login.password]), [])
    assert.deepEqual(await filesThatHold(service.home, [login.password, 'a-wrong-token-of-mine']), [])
    await mine('config', '--unset-all', 'url.ext::sh.insteadOf')
  })

  it('talks to git daemon', { timeout: 60_000 }, async () => {
    const port = await freePort()
    const args = [
      'daemon',
      '--export-all',
      '--enable=receive-pack',
      '--reuseaddr',
      '--listen=127.0.0.1',
      `--port=${port}`,
      `--base-path=${work}`,
      work,
    ]
    const daemon = spawn('git', ['-c', 'safe.directory=*', ...args], { stdio: 'ignore', detached: true, env })
    try {
      const url = `git://127.0.0.1:${port}/private.git`
      await waitFor(
        'git daemon',
        async () => (await execute('git', ['ls-remote', url], { env }).catch(() => null)) !== null,
      )
      await service.client.call('putGit', { params: { id: 'page' }, body: { url, token: null } })
      await write('sixth', '6\n')
      await done('commitGit', { message: 'Sixth', paths: ['sixth'] })
      await done('pushGit')
      await publish('seventh', '7\n', 'Seventh')
      await done('pullGit')
      assert.equal(await readFile(join(path, 'seventh'), 'utf8'), '7\n')
    } finally {
      process.kill(-daemon.pid!, 'SIGKILL')
    }
  })

  it('logs in over SSH with the deploy key, which no file holds; the host key is shown', {
    timeout: 90_000,
  }, async () => {
    const params = { id: 'page' }
    const first = await service.client.call('createGitDeployKey', { params })
    await writeFile(join(work, 'client.pub'), `${first.publicKey}\n`)
    const server = await serveSsh(join(work, 'sshd'), join(work, 'client'), 'ed25519-host')
    try {
      const url = `ssh://${userInfo().username}@127.0.0.1:${server.port}${work}/private.git`
      await service.client.call('putGit', { params, body: { url } })
      await publish('eighth', '8\n', 'Eighth')
      const said = await done('pullGit')
      assert.ok(said.includes(await server.fingerprint('ed25519-host')), said)
      assert.equal(await readFile(join(path, 'eighth'), 'utf8'), '8\n')
      const { hostKeys, deployKey } = await state()
      assert.deepEqual([hostKeys[0]!.fingerprint, deployKey], [await server.fingerprint('ed25519-host'), first])
      await write('ninth', '9\n')
      await done('commitGit', { message: 'Ninth', paths: ['ninth'] })
      await done('pushGit')
      assert.deepEqual(await filesThatHold(service.home, ['BEGIN OPENSSH PRIVATE KEY']), [])
      const second = await service.client.call('createGitDeployKey', { params })
      assert.notEqual(second.publicKey, first.publicKey)
      assert.equal((await fails('fetchGit')).code, 'source_failed')
      assert.deepEqual(await processesBelow(join(service.home, 'git')), [])
      assert.deepEqual(await readdir(join(service.home, 'git', 'mirrors')), [])
    } finally {
      await server[Symbol.asyncDispose]()
    }
  })

  it('does not lend the keys of the instance to an address that a project was given later', {
    timeout: 60_000,
  }, async (t) => {
    if (!isRoot) return t.skip('an ordinary user has one set of keys')
    const key = join(work, 'instance')
    await makeKey(key, 'ed25519')
    const folder = join(service.home, 'git', 'ssh')
    const { uid, gid } = await stat(join(service.home, 'git'))
    await mkdir(folder, { mode: 0o700 })
    await cp(key, join(folder, 'id_ed25519'))
    for (const one of [folder, join(folder, 'id_ed25519')]) await chown(one, uid, gid)
    const server = await serveSsh(join(work, 'sshd-2'), key, 'ed25519-host')
    try {
      const url = `ssh://${userInfo().username}@127.0.0.1:${server.port}${work}/private.git`
      const made = await service.client.call('createProject', {
        body: { name: 'Cloned', git: { url }, start: false },
        query: { wait: 60 },
      })
      assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
      await done('fetchGit', {}, 'cloned')
      await service.client.call('putGit', { params: { id: 'cloned' }, body: { url: `${url}/` } })
      assert.equal((await fails('fetchGit', {}, 'cloned')).code, 'source_failed')
    } finally {
      await server[Symbol.asyncDispose]()
    }
  })

  it('goes on after the service was killed in the middle', { timeout: 120_000 }, async () => {
    await service.client.call('putGit', {
      params: { id: 'page' },
      body: { url: git.url('private.git'), username: 'grace', token: login.password },
    })
    for (let count = 0; count < 200; count += 1)
      await writeFile(join(work, 'clone', `many-${count}`), `${count}\n`.repeat(2000))
    await publish('tenth', '10\n', 'Many')
    const { id } = await service.client.call('pullGit', { params: { id: 'page' } })
    await new Promise((resolve) => setTimeout(resolve, 400))
    await service.kill()
    await service.start()
    const ended = await service.client.call('getOperation', { params: { op: id }, query: { wait: 60 } })
    assert.equal(ended.state, 'succeeded', JSON.stringify(ended.error))
    assert.deepEqual([(await state()).behind, (await state()).changed.length], [0, 0])
    assert.deepEqual(await readdir(join(service.home, 'git', 'mirrors')), [])
  })

  it('installs what changed and restarts what runs over it, after a plan that says so', {
    timeout: 180_000,
  }, async () => {
    const source = join(work, 'app')
    await mkdir(source)
    const served = (text: string) =>
      `require('node:http').createServer((q, a) => a.end('${text}')).listen(process.env.PORT, '127.0.0.1')\n`
    const manifest = {
      name: 'app',
      version: '1.0.0',
      private: true,
      scripts: { start: 'node server.js' },
      dependencies: { lib: 'file:./lib' },
    }
    await mkdir(join(source, 'lib'))
    await writeFile(join(source, 'lib', 'package.json'), JSON.stringify({ name: 'lib', version: '1.0.0' }))
    await writeFile(join(source, '.gitignore'), 'node_modules\npackage-lock.json\n')
    await writeFile(join(source, 'package.json'), JSON.stringify(manifest))
    await writeFile(join(source, 'server.js'), served('one'))
    await publishRepository(source, join(work, 'app.git'))
    const made = await service.client.call('createProject', {
      body: { name: 'App', git: { url: git.url('app.git') } },
      query: { wait: 120 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    assert.equal((await service.get('app')).body, 'one')
    const params = { id: 'app' }
    const commitThere = async (message: string) => {
      await execute('git', [...ada, 'add', '--all'], { cwd: source, env })
      await execute('git', [...ada, 'commit', '--quiet', '--message', message], { cwd: source, env })
      await execute('git', ['push', '--quiet', join(work, 'app.git'), 'main'], { cwd: source, env })
    }
    await writeFile(join(source, 'server.js'), served('two'))
    await writeFile(join(source, 'package.json'), JSON.stringify({ ...manifest, version: '2.0.0' }))
    await commitThere('Two')
    await done('fetchGit', {}, 'app')
    const { plan } = await service.client.plan('pullGit', { params })
    assert.deepEqual(plan.restarts, ['node'])
    assert.match(
      plan.steps.map((step) => step.title).join('\n'),
      /Bring main to origin\/main: 1 commit, 2 files\nInstall .*\nRestart /,
    )
    assert.match(plan.steps[0]!.because.join(), /Two/)
    const ended = await act('pullGit', {}, 'app')
    assert.equal(ended.state, 'succeeded', JSON.stringify(ended.error))
    const titles = (ended.steps as unknown as { title: string }[]).map((step) => step.title).join('\n')
    assert.match(titles, /Install/)
    assert.equal((await service.get('app')).body, 'two')
    const { pid } = (await service.client.call('getProject', { params })).status.workloads[0] as unknown as {
      pid?: number
    }
    await done('pullGit', {}, 'app')
    const again = (await service.client.call('getProject', { params })).status.workloads[0] as unknown as {
      pid?: number
    }
    assert.equal(again.pid, pid)
    await service.client.call('stopProject', { params, query: { wait: 30 } })
    await writeFile(join(source, 'server.js'), served('three'))
    await commitThere('Three')
    const stopped = await act('pullGit', {}, 'app')
    assert.equal(stopped.steps.length, 1)
    assert.equal((await service.client.call('getProject', { params })).status.state, 'stopped')
  })

  it('is right about shallow clones and submodules', { timeout: 90_000 }, async () => {
    const made = await service.client.call('createProject', {
      body: { name: 'Shallow', start: false },
      query: { wait: 60 },
    })
    const place = await stat(made.path)
    await rm(made.path, { recursive: true })
    await execute('git', ['clone', '--quiet', '--depth=2', `file://${join(work, 'private.git')}`, made.path], { env })
    await writeFile(
      join(made.path, '.gitmodules'),
      '[submodule "one"]\n\tpath = libs/one\n\turl = ext::sh -c "touch /tmp/executed"\n',
    )
    await execute('git', ['add', '.gitmodules'], { cwd: made.path, env })
    await execute('git', [...ada, 'commit', '--quiet', '-m', 'Submodule'], { cwd: made.path, env })
    await execute('chown', ['-R', `${place.uid}:${place.gid}`, made.path])
    await service.client.call('putGit', {
      params: { id: 'shallow' },
      body: { url: git.url('private.git'), username: 'grace', token: login.password },
    })
    const before = await state('shallow')
    assert.deepEqual([before.shallow, before.submodules], [true, ['libs/one']])
    await publish('eleventh', '11\n', 'Eleventh')
    await done('pullGit', { manner: 'merge' }, 'shallow')
    assert.equal(await readFile(join(made.path, 'eleventh'), 'utf8'), '11\n')
    await done('pushGit', {}, 'shallow')
    assert.equal((await state('shallow')).ahead, 0)
  })
})
