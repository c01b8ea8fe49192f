import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Account } from '@stackquay/engines'
import { freePort, waitFor } from '@stackquay/testkit'
import { createGitLab, type GitLab, isRoot } from './support/git-lab.ts'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'

const execute = promisify(execFile)

/** A branch’s name that a shell would run: it has no space. */
const commandName = '$(touch$' + '{IFS}was-run)'

describe('a clone', () => {
  let lab: GitLab
  let server: GitServer
  let project: Account | null

  before(async () => {
    lab = await createGitLab()
    server = await serveGit(lab.work, { username: 'grace', password: 'of-hopper' })
    project = await lab.user('p')
  })
  after(async () => {
    await server?.close()
    await lab?.[Symbol.asyncDispose]()
  })

  /** A bare repository, made by commands in a working copy. */
  const publish = async (
    name: string,
    make: (run: (...args: string[]) => Promise<string>, folder: string) => Promise<void>,
  ) => {
    const source = join(lab.work, `${name}-source`)
    await mkdir(source)
    const run = (...args: string[]) =>
      lab.git(null, source, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args)
    await run('init', '--quiet', '--initial-branch=trunk')
    await make(run, source)
    await lab.git(null, lab.work, 'clone', '--quiet', '--mirror', source, `${name}.git`)
  }

  /** What a clone is, as its owner sees it. */
  const stateOf = async (folder: string) => {
    const git = (...args: string[]) =>
      lab.git(project, folder, ...args).catch((error: { code: number }) => `ended with ${error.code}`)
    return {
      refs: await git('for-each-ref', '--format=%(refname) %(objectname) %(symref)'),
      head: await git('symbolic-ref', 'HEAD'),
      commit: await git('rev-parse', 'HEAD'),
      config: (await git('config', '--local', '--list')).split('\n').sort(),
      status: await git('status', '--porcelain=v2', '--branch'),
      files: await git('ls-files', '--stage'),
      faults: await git('fsck', '--strict', '--full'),
      reflog: (await readFile(join(folder, '.git', 'logs', 'HEAD'), 'utf8').catch(() => '')).split('\t')[1],
      below: (await readdir(folder)).sort(),
    }
  }

  const compare = async (name: string, branch?: string) => {
    const [ours, plain] = await Promise.all([`${name}-ours`, `${name}-plain`].map((one) => lab.folder(one, project)))
    await lab.clone(server.url(`${name}.git`), ours!, { account: project, ...(branch === undefined ? {} : { branch }) })
    const chosen = branch === undefined ? [] : ['--branch', branch]
    await lab.git(project, plain!, 'clone', '--quiet', ...chosen, server.url(`${name}.git`), '.')
    const [mine, theirs] = [await stateOf(ours!), await stateOf(plain!)]
    assert.deepEqual(mine, theirs)
    await assert.rejects(
      execute('grep', ['-rqE', 'mirror|stq-git', join(ours!, '.git')]),
      { code: 1 },
      'something names the mirror',
    )
    await rm(ours!, { recursive: true })
    await rm(plain!, { recursive: true })
    return mine
  }

  it('is what git itself would have made: branches, tags, HEAD, upstream, address, reflog', {
    timeout: 60_000,
  }, async () => {
    await publish('rich', async (run, folder) => {
      await mkdir(join(folder, 'sub'))
      await writeFile(join(folder, 'sub', 'file'), 'one\n')
      await writeFile(join(folder, 'program'), '#!/bin/sh\n', { mode: 0o755 })
      await symlink('sub/file', join(folder, 'link'))
      await writeFile(
        join(folder, '.gitmodules'),
        '[submodule "lib"]\n\tpath = lib\n\turl = https://example.org/lib.git\n',
      )
      await run('add', '--all')
      await run('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},lib`)
      await run('commit', '--quiet', '--message', 'First')
      await run('tag', 'light')
      await run('tag', '--annotate', '--message', 'Second', 'v1.0')
      await run('switch', '--quiet', '--create', 'feature/deep')
      await writeFile(join(folder, 'more'), 'more\n')
      await run('add', '--all')
      await run('commit', '--quiet', '--message', 'More')
      await run('switch', '--quiet', 'trunk')
    })
    const whole = await compare('rich')
    assert.equal(whole.head, 'refs/heads/trunk\n')
    assert.match(whole.status, /# branch\.upstream origin\/trunk/)
    assert.match(whole.refs, /refs\/remotes\/origin\/feature\/deep/)
    assert.ok(whole.config.includes(`remote.origin.url=${server.url('rich.git')}`))
    assert.equal((await compare('rich', 'feature/deep')).head, 'refs/heads/feature/deep\n')
    assert.equal((await compare('rich', 'v1.0')).head, 'ended with 128')
  })

  it('is the same of a repository with a detached HEAD, and of one without a commit', { timeout: 60_000 }, async () => {
    await publish('detached', async (run) => {
      await run('commit', '--quiet', '--allow-empty', '--message', 'First')
      await run('commit', '--quiet', '--allow-empty', '--message', 'Second')
    })
    const first = await lab.git(null, join(lab.work, 'detached.git'), 'rev-parse', 'trunk~1')
    await lab.git(null, join(lab.work, 'detached.git'), 'update-ref', '--no-deref', 'HEAD', first.trim())
    assert.equal((await compare('detached')).commit, first)
    await publish('empty', async () => undefined)
    assert.equal((await compare('empty')).head, 'refs/heads/trunk\n')
  })

  it('works over git://, and shows progress', { timeout: 60_000 }, async () => {
    const port = await freePort()
    const daemon = spawn(
      'git',
      [
        'daemon',
        '--export-all',
        '--reuseaddr',
        `--base-path=${lab.work}`,
        '--listen=127.0.0.1',
        `--port=${port}`,
        lab.work,
      ],
      {
        detached: true,
        stdio: 'ignore',
        env: {
          PATH: process.env.PATH,
          GIT_CONFIG_COUNT: '1',
          GIT_CONFIG_KEY_0: 'safe.directory',
          GIT_CONFIG_VALUE_0: '*',
        },
      },
    )
    try {
      const url = `git://127.0.0.1:${port}/rich.git`
      await waitFor('the daemon', () => lab.git(null, '/', 'ls-remote', url).then(() => true))
      const folder = await lab.folder('by-daemon', project)
      const seen = await lab.clone(url, folder, { account: project })
      assert.match(seen, /Receiving objects: 100%/)
      assert.ok(!seen.includes('mirror'), seen)
      assert.ok((await stateOf(folder)).config.includes(`remote.origin.url=${url}`))
    } finally {
      process.kill(-daemon.pid!, 'SIGKILL')
    }
  })

  it('runs nothing that a repository brings: hooks, watchers, filters, names that look like commands', {
    timeout: 60_000,
  }, async () => {
    const proof = join(lab.work, 'was-run')
    const payload = join(lab.work, 'payload')
    await writeFile(payload, `#!/bin/sh\ntouch '${proof}'\n`, { mode: 0o755 })
    const names = [
      '--upload-pack=x',
      '-rf',
      '$(touch was-run)',
      '`id`',
      ';id',
      'two\nlines',
      '"quotes\'',
      '\u202etxt.exe',
      '\u001b]0;title\u0007',
      'ünï',
    ]
    await publish('hostile', async (run, folder) => {
      for (const name of names) await writeFile(join(folder, name), payload)
      await mkdir(join(folder, 'hooks'))
      await cp(payload, join(folder, 'hooks', 'post-checkout'))
      await writeFile(join(folder, '.gitattributes'), `* filter=evil\n* diff=evil\n* merge=evil\n`)
      await writeFile(join(folder, '.gitconfig'), `[core]\n\tfsmonitor = ${payload}\n\thooksPath = ${folder}/hooks\n`)
      await symlink('/', join(folder, 'root'))
      await symlink('../../../../../../etc/passwd', join(folder, 'passwd'))
      await run('add', '--all')
      await run('commit', '--quiet', '--message', '$(touch was-run)')
      for (const name of [commandName, `;${commandName}`, '"quoted"', '`id`', '\u202erevo'])
        await run('update-ref', `refs/heads/${name}`, 'HEAD')
    })
    const bare = join(lab.work, 'hostile.git')
    for (const hook of ['post-checkout', 'post-upload', 'pre-receive', 'reference-transaction'])
      await cp(payload, join(bare, 'hooks', hook))
    // The files that git reads for a user: the one of the project may write them.
    const home = isRoot ? (await execute('getent', ['passwd', String(project!.uid)])).stdout.split(':')[5]! : null
    if (home !== null) {
      const evil = ['fsmonitor', 'sshCommand', 'gitProxy', 'alternateRefsCommand']
        .map((key) => `\t${key} = ${payload}\n`)
        .join('')
      await writeFile(
        join(home, '.gitconfig'),
        `[core]\n${evil}\thooksPath = ${bare}/hooks\n[filter "evil"]\n\tsmudge = ${payload}\n`,
      )
    }
    for (const branch of [undefined, commandName]) {
      const folder = await lab.folder(`hostile-${branch === undefined}`, project)
      await lab.cloning.check({ url: server.url('hostile.git'), branch: branch ?? null }, AbortSignal.timeout(20_000))
      await lab.clone(server.url('hostile.git'), folder, {
        account: project,
        ...(branch === undefined ? {} : { branch }),
      })
      assert.equal(await readlink(join(folder, 'root')), '/')
      assert.ok((await lstat(join(folder, 'passwd'))).isSymbolicLink())
      const here = await readdir(folder)
      assert.deepEqual(
        names.filter((name) => !here.includes(name)),
        [],
      )
      for (const place of [proof, join(folder, 'was-run'), join(lab.home, 'was-run')])
        assert.equal(existsSync(place), false, place)
      if (project !== null) assert.equal((await lstat(join(folder, 'hooks', 'post-checkout'))).uid, project.uid)
    }
    assert.deepEqual(await lab.mirrors(), [])
  })

  it('refuses a repository whose objects are made to harm: commands in .gitmodules, a .git among its files', {
    timeout: 60_000,
  }, async () => {
    const proof = join(lab.work, 'was-run')
    const traps: Readonly<Record<string, string>> = {
      option: '[submodule "lib"]\n\tpath = lib\n\turl = -u./payload\n',
      update: '[submodule "lib"]\n\tpath = lib\n\turl = https://example.org/x\n\tupdate = !touch was-run\n',
      path: '[submodule "../../x"]\n\tpath = lib\n\turl = https://example.org/x\n',
    }
    for (const [name, text] of Object.entries(traps)) {
      await publish(`trap-${name}`, async (run, folder) => {
        await writeFile(join(folder, '.gitmodules'), text)
        await run('add', '--all')
        await run('commit', '--quiet', '--message', 'First')
      })
    }
    await publish('trap-folder', async (run, folder) => {
      await writeFile(join(folder, 'hook'), `#!/bin/sh\ntouch '${proof}'\n`, { mode: 0o755 })
      await run('add', '--all')
      await run('commit', '--quiet', '--message', 'First')
      const tree = async (lines: string) => {
        await writeFile(join(folder, 'tree'), lines)
        const bytes = Buffer.concat(
          lines
            .split('\n')
            .filter(Boolean)
            .map((line) => {
              const [mode, hash, name] = line.split(' ')
              return Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(hash!, 'hex')])
            }),
        )
        await writeFile(join(folder, 'tree'), bytes)
        return (await run('hash-object', '-t', 'tree', '-w', '--literally', 'tree')).trim()
      }
      const hook = (await run('rev-parse', 'HEAD:hook')).trim()
      const hooks = await tree(`100755 ${hook} post-checkout`)
      const inside = await tree(`40000 ${hooks} hooks`)
      const top = await tree(`40000 ${inside} .git`)
      const commit = (await run('commit-tree', '-m', 'Trap', top)).trim()
      await run('update-ref', 'refs/heads/trunk', commit)
    })
    for (const name of [...Object.keys(traps), 'folder']) {
      const folder = await lab.folder(`trap-${name}`, project)
      await assert.rejects(
        lab.clone(server.url(`trap-${name}.git`), folder, { account: project }),
        (error: Error & { code: string }) => {
          assert.equal(error.code, 'source_failed', name)
          assert.match(error.message, /gitmodules|fsck|invalid path/i)
          return true
        },
      )
      assert.equal(existsSync(proof), false, name)
    }
    assert.deepEqual(await lab.mirrors(), [])
  })

  if (isRoot)
    it('says when the disk is full, in either half, and leaves no mirror', { timeout: 60_000 }, async () => {
      const source = join(lab.work, 'large')
      await mkdir(source)
      await writeFile(join(source, 'noise'), randomBytes(3 << 20))
      await publishRepository(source, join(lab.work, 'large.git'))
      for (const full of [join(lab.home, 'git', 'mirrors'), join(lab.work, 'small')]) {
        await mkdir(full, { recursive: true })
        const owner = full.startsWith(lab.home) ? await lstat(join(lab.home, 'git')) : project!
        await execute('mount', [
          '-t',
          'tmpfs',
          '-o',
          `size=2m,mode=700,uid=${owner.uid},gid=${owner.gid}`,
          'tmpfs',
          full,
        ])
        try {
          const folder = full.startsWith(lab.home) ? await lab.folder('no-room', project) : full
          await assert.rejects(
            lab.clone(server.url('large.git'), folder, { account: project }),
            (error: Error & { code: string; hint: string }) => {
              assert.equal(error.code, 'disk_full', error.message)
              assert.match(error.hint, /Free some space/)
              return true
            },
          )
          assert.deepEqual(await lab.mirrors(), [])
        } finally {
          await execute('umount', [full])
        }
      }
    })
})
