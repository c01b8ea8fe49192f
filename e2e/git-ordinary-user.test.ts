import assert from 'node:assert/strict'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createGitLab, type GitLab } from './support/git-lab.ts'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { filesThatHold } from './support/traces.ts'

// This file’s process becomes an ordinary user, as the service is when no root starts it.
if (process.getuid?.() === 0) {
  process.setgroups!([65534])
  process.setgid!(65534)
  process.setuid!(65534)
}

describe('git of a service that is an ordinary user', () => {
  let lab: GitLab
  let git: GitServer

  before(async () => {
    lab = await createGitLab()
    await mkdir(join(lab.work, 'source'))
    await writeFile(join(lab.work, 'source', 'read.me'), 'Hello\n')
    await publishRepository(join(lab.work, 'source'), join(lab.work, 'private.git'))
    git = await serveGit(lab.work, { username: 'grace', password: 'of-hopper-is-long' })
  })
  after(async () => {
    await git?.close()
    await lab?.[Symbol.asyncDispose]()
  })

  it('clones as that user, with the same mirror, and keeps the password nowhere', { timeout: 60_000 }, async () => {
    const url = git.url('private.git', 'grace:of-hopper-is-long')
    await lab.cloning.check({ url, branch: 'main' }, AbortSignal.timeout(20_000))
    const folder = await lab.folder('mine', null)
    await lab.clone(url, folder)
    assert.equal(await readFile(join(folder, 'read.me'), 'utf8'), 'Hello\n')
    assert.equal((await lab.git(null, folder, 'config', 'remote.origin.url')).trim(), git.url('private.git'))
    assert.equal((await stat(join(lab.home, 'git'))).mode & 0o777, 0o700)
    assert.deepEqual(await lab.mirrors(), [])
    assert.deepEqual(await filesThatHold(lab.work, ['of-hopper-is-long']), [])
  })
})
