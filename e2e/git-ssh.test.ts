import assert from 'node:assert/strict'
import { chown, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { makeKey, type SshServer, serveSsh } from '@stackquay/testkit'
import { ensureSystemUser } from '../apps/server/src/users/system-user.ts'
import { createGitLab, type GitLab, isRoot } from './support/git-lab.ts'
import { publishRepository } from './support/git-server.ts'

describe('a repository over SSH', () => {
  let lab: GitLab
  let server: SshServer
  let url: string
  const signal = () => AbortSignal.timeout(20_000)

  before(async () => {
    lab = await createGitLab()
    await mkdir(join(lab.work, 'source'))
    await writeFile(join(lab.work, 'source', 'read.me'), 'Over SSH\n')
    await publishRepository(join(lab.work, 'source'), join(lab.work, 'page.git'))
    const key = join(lab.work, 'client')
    await makeKey(key, 'ed25519')
    // As an administrator puts it there.
    const folder = join(lab.home, 'git', 'ssh')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await cp(key, join(folder, 'id_ed25519'))
    if (isRoot) {
      const { uid, gid } = await ensureSystemUser('stq-git')
      for (const path of [join(lab.home, 'git'), folder, join(folder, 'id_ed25519')]) await chown(path, uid, gid)
    }
    server = await serveSsh(join(lab.work, 'sshd'), key, 'ed25519-first')
    url = `ssh://${userInfo().username}@127.0.0.1:${server.port}${lab.work}/page.git`
  })
  after(async () => {
    await server?.[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  const knownHosts = () => readFile(join(lab.home, 'git', 'known_hosts'), 'utf8')

  it('is cloned; the host key is believed once, remembered, and shown with its fingerprint', {
    timeout: 60_000,
  }, async () => {
    const owner = await lab.user('s')
    const fingerprint = await server.fingerprint('ed25519-first')
    await lab.cloning.check({ url, branch: 'main' }, signal())
    const remembered = await knownHosts()
    assert.match(remembered, new RegExp(`^\\[127\\.0\\.0\\.1\\]:${server.port} ssh-ed25519 `))
    const first = await lab.folder('first', owner)
    const seen = await lab.clone(url, first, { account: owner })
    assert.ok(
      seen.includes(`is contacted for the first time. Its host key is remembered: ssh-ed25519 ${fingerprint}.`),
      seen,
    )
    assert.equal(await readFile(join(first, 'read.me'), 'utf8'), 'Over SSH\n')
    assert.equal((await lab.git(owner, first, 'config', 'remote.origin.url')).trim(), url)
    const again = await lab.clone(url, await lab.folder('again', owner), { account: owner })
    assert.ok(again.includes(`has the host key that is remembered: ssh-ed25519 ${fingerprint}.`), again)
    assert.doesNotMatch(seen + again, /debug1|OpenSSH_|Bytes per second/)
    assert.equal(await knownHosts(), remembered)
  })

  for (const [what, key] of [
    ['of the same type', 'ed25519-second'],
    ['of another type, of which nothing is remembered', 'ecdsa-third'],
  ] as const)
    it(`is refused when the host key has changed to one ${what}; both fingerprints and what to do are said`, {
      timeout: 60_000,
    }, async () => {
      const before = await knownHosts()
      await server.showKey(key)
      const [old, now] = [await server.fingerprint('ed25519-first'), await server.fingerprint(key)]
      await assert.rejects(
        lab.cloning.check({ url, branch: null }, signal()),
        (error: Error & { code: string; hint: string }) => {
          assert.equal(error.code, 'source_failed')
          assert.match(error.message, /The host key of \[127\.0\.0\.1\]:\d+ has changed/)
          assert.ok(error.message.includes(old) && error.message.includes(now), error.message)
          assert.match(error.hint, /ssh-keygen -f '.*known_hosts' -R '\[127\.0\.0\.1\]:\d+'/)
          return true
        },
      )
      assert.equal(await knownHosts(), before)
    })

  it('is read again after the administrator forgot the old key by the command that was shown', {
    timeout: 60_000,
  }, async () => {
    const { execFileSync } = await import('node:child_process')
    const hint = await lab.cloning.check({ url, branch: null }, signal()).then(
      () => '',
      (error: { hint: string }) => error.hint,
    )
    execFileSync('sh', ['-c', hint.slice(hint.indexOf(isRoot ? 'runuser' : 'ssh-keygen'))], { stdio: 'pipe' })
    await lab.cloning.check({ url, branch: 'main' }, signal())
    assert.match(await knownHosts(), /ecdsa-sha2-nistp256/)
  })

  it('is refused with the command that installs it when ssh is missing', async () => {
    const { PATH } = process.env
    process.env.PATH = join(lab.work, 'nothing-here')
    try {
      await assert.rejects(
        lab.cloning.check({ url, branch: null }, signal()),
        (error: Error & { code: string; hint: string }) => {
          assert.equal(error.code, 'unavailable_here')
          assert.match(error.message, /ssh is not installed/)
          assert.match(error.hint, /apt-get install -y openssh-client/)
          return true
        },
      )
    } finally {
      process.env.PATH = PATH
    }
  })
})
