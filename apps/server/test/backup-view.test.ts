import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest } from '@stackquay/archive'
import { backupView } from '../src/backups/backup-view.ts'

const time = '2026-01-01T00:00:00.000Z'

test('texts of an archive that somebody else made hide nothing where they are shown', () => {
  const turned = 'safe\u202etxt.exe\u200b'
  const manifest: Manifest = {
    format: 'stackquay-backup',
    formatVersion: 1,
    id: 'bak_0000000001',
    createdAt: time,
    note: turned,
    source: 'upload',
    engine: 'native',
    project: { id: 'prj_0000000001', slug: 'shop', name: turned },
    stackquayVersion: '0.1.0',
    architecture: 'x64',
    parts: [
      {
        file: 'files.tar.zst',
        id: 'files',
        title: turned,
        type: turned,
        version: turned,
        method: 'copy',
        bytes: 1,
        contentBytes: 2,
        sha256: '0'.repeat(64),
        takenAt: time,
        warnings: [`${turned} changed while it was read`],
      },
    ],
    key: null,
  }
  const checks = [{ part: 'files', check: 'unpacked', ok: false, detail: turned }]
  const verified = { at: time, outcome: 'faulty', seconds: 1, checks } as const
  const shown = backupView(
    { manifest, verified: { ...verified, checks: [...checks] } },
    { keys: { opensHere: () => true }, copies: { of: () => [], nameOf: (id) => id }, isThere: () => false },
  )
  assert.doesNotMatch(JSON.stringify(shown), /[\u200b\u202e]/)
  assert.equal(shown.note, String.raw`safe\u{202e}txt.exe\u{200b}`)
  assert.equal(shown.project.deleted, true)
})
