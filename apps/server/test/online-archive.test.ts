import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { packFile } from '@stackquay/archive/packer/packer'
import type { BackupPrograms } from '@stackquay/domain'
import type { ExecIo } from '@stackquay/engine-api'
import { onlineArchive, type ProgramDeps } from '../src/backups/data-programs.ts'

/** An engine that gives a program no pipe, as that of Docker: what it prints comes to the service, and goes on from there. */
describe('the archive of a program whose engine hands on what it prints', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-online-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'file')
  writeFileSync(join(folder, 'data'), Buffer.alloc(3_000_000, 'quay '))
  const { stdout } = spawnSync('tar', ['-C', folder, '-cf', '-', 'data'], { maxBuffer: 10_000_000 })
  rmSync(join(folder, 'data'))

  const never = new AbortController().signal
  const pack = (exec: (io: ExecIo) => Promise<number>) => {
    const commands = {
      exec: async (_: unknown, io: ExecIo) => ({ code: await exec(io), signal: null, at: '' }),
    }
    const deps = { engine: { commands }, reveal: async () => '' } as unknown as ProgramDeps
    const online = { argv: ['/bin/true'], env: {}, data: [], cwd: '/', container: null, prefix: 'cluster' }
    const workload = { ref: { project: 'shop', workload: 'main' }, title: 'PostgreSQL main' }
    const { bytes, ...rest } = onlineArchive({ workload, online } as unknown as BackupPrograms, deps, never)
    return packFile(file, bytes, { zstd: null, countsTree: false, signal: never, ...rest })
  }
  const say = async (io: ExecIo, bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += 50_000) await io.output('stdout', bytes.subarray(at, at + 50_000))
  }

  it('is whole, in its folder', async () => {
    const { contentBytes } = await pack(async (io) => {
      await say(io, stdout)
      return 0
    })
    const archive = zstdDecompressSync(readFileSync(file))
    assert.equal(contentBytes, archive.length)
    const listed = spawnSync('tar', ['-t'], { input: archive, encoding: 'utf8' }).stdout
    assert.deepEqual(listed.trim().split('\n'), ['./', 'cluster/', 'cluster/data'])
    rmSync(file)
  })

  it('is none when it breaks off, and the words of the program say why', async () => {
    const failing = pack(async (io) => {
      await say(io, stdout.subarray(0, 1_000_000))
      await io.output('stderr', Buffer.from('The server went away.\n'))
      return 1
    })
    await assert.rejects(failing, /The program that reads PostgreSQL main failed: The server went away\./)
    const cut = pack(async (io) => {
      await say(io, stdout.subarray(0, 1_000_000))
      return 0
    })
    await assert.rejects(cut, /end of data/)
    assert.deepEqual(readdirSync(folder), [])
  })
})
