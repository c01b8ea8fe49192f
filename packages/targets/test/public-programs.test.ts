import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { newIdentity, openArchiveFolder, sealSettings } from '@stackquay/archive'
import { openSealer, sendCopy, setUpKey } from '@stackquay/targets'
import { never } from './conformance.ts'
import { folderPlace, temporaryFolder } from './places.ts'

const document = readFileSync(fileURLToPath(new URL('../../../docs/backup-format.md', import.meta.url)), 'utf8')
const [ofArchive, ofTarget] = document
  .split('## On a target')
  .map((text) => [...text.matchAll(/^```sh\n([\s\S]+?)^```$/gm)].map(([, block]) => block!)) as [string[], string[]]

const sealer = openSealer()
after(() => sealer[Symbol.asyncDispose]())

test('a copy opens by the commands of its document, with age, zstd and tar alone', async () => {
  const { path, remove } = await temporaryFolder()
  const source = join(path, 'source')
  mkdirSync(source)
  writeFileSync(join(source, 'app.js'), 'console.log(1)\n')
  const tar = execFileSync('tar', ['-C', source, '-c', '.'])
  const settings = { env: { PASSWORD: 'pässword' } }
  const part = { title: 'x', type: 'x', version: null, method: 'copy', takenAt: new Date().toISOString() } as const
  const archives = openArchiveFolder(join(path, 'backups'))
  const { identity, recipient } = await newIdentity()
  await using writer = await archives.create('bak_0123456789')
  const sealed = await sealSettings(settings, [recipient])
  await writer.addSealed({ id: 'settings', extension: 'json', ...part }, sealed)
  for (const id of ['files', 'database:main']) {
    const content = (async function* () {
      yield tar
    })()
    await writer.add({ id, extension: 'tar', ...part }, content, { signal: never })
  }
  const manifest = await writer.finish({
    createdAt: part.takenAt,
    note: 'before the "update"',
    source: 'manual',
    engine: 'native',
    project: { id: 'prj_0123456789', slug: 'shop', name: 'Shop' },
    stackquayVersion: '0.1.0',
    architecture: 'x64',
    key: { keyId: 'key_1', sealed: 'AAAA' },
  })

  await using place = await folderPlace()
  const target = await place.open()
  const { key, recoveryPassphrase } = await setUpKey(target, sealer, null, never)
  const archive = await archives.asTar(manifest.id)
  const by = { instance: 'ins_0123456789', bySchedule: false }
  await sendCopy(
    { ...archive, id: manifest.id, manifest: JSON.parse(JSON.stringify(manifest)), identity, ...by },
    {
      target,
      key,
      sealer,
      sent: new Map(),
      onFirst: async () => {},
      onPiece: async () => {},
      onBytes: () => {},
      now: () => new Date(),
      signal: never,
    },
  )

  const [open, look, put, ...more] = ofTarget
  assert.equal(more.length, 0)
  const run = (command: string, env = {}) =>
    execFileSync('sh', ['-e', '-c', command], { cwd: place.path, encoding: 'utf8', env: { ...process.env, ...env } })
  // It asks at the terminal, so it gets one.
  execFileSync('script', ['-qec', open!, '/dev/null'], { cwd: place.path, input: `${recoveryPassphrase}\n` })
  const looked = run(look!)
  const [, copy = ''] = /backups\/([0-9a-f]{40})\.age/.exec(looked) ?? []
  assert.match(looked, /"slug": "shop"/)
  run(put!, { copy })
  const output = ofArchive.slice(0, 4).map((command) => run(command))
  assert.equal(output[0], 'settings.json.age: OK\nfiles.tar.zst: OK\ndatabase-main.tar.zst: OK\n')
  for (const name of ['files', 'database-main']) execFileSync('diff', ['-r', source, join(place.path, name)])
  assert.deepEqual(JSON.parse(readFileSync(join(place.path, 'settings.json'), 'utf8')), settings)
  assert.ok(readdirSync(place.path).includes('stackquay-key.age'))
  await remove()
})
