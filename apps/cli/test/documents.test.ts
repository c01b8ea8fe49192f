import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Command } from 'commander'
import { commandEntries } from '../src/commands/index.ts'
import type { World } from '../src/context.ts'
import { createProgram } from '../src/program.ts'

const world = { stdout: {}, stderr: {}, env: {} } as unknown as World

test('every command and option that the document of the command line names is there', async () => {
  const text = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
  const pieces = [...text.matchAll(/`(stq [^`]+)`|^\$ (stq .+)$/gm)].map((match) => match[1] ?? match[2]!)
  assert.ok(pieces.length > 20)
  for (const piece of pieces) {
    const words = piece.split(' ').slice(1)
    const command = await commandOf(words)
    assert.ok(command !== null, `"${piece}" is no command`)
    for (const [option] of piece.matchAll(/(?<= )--[a-z-]+/g))
      assert.ok(
        command.options.some(({ long }) => long === option),
        `"${piece}": there is no ${option}`,
      )
  }
})

test('every command that changes a project inside knows --dry-run', async () => {
  const without: string[] = []
  for (const { name, group } of commandEntries) {
    if (group !== 'Inside a project') continue
    const command = (await createProgram(world).find(name))!
    for (const sub of command.commands) {
      if (!sub.options.some(({ long }) => long === '--dry-run')) without.push(`${name} ${sub.name()}`)
    }
  }
  // These read, or touch files, mails, backups, repositories and rows alone, for which the service has no plan.
  assert.deepEqual(without, [
    'files list',
    'files get',
    'files put',
    'files delete',
    'files restore',
    'env list',
    'env get',
    'runtime list',
    'runtime show',
    'runtime help',
    'service list',
    'service show',
    'service open',
    'service credentials',
    'service help',
    'db list',
    'db credentials',
    'db shell',
    'db query',
    'db export',
    'db snapshot',
    'db point-in-time',
    'worker list',
    'cron list',
    'cron run',
    'cron preview',
    'backup list',
    'backup show',
    'backup verify',
    'backup schedule',
    'backup download',
    'backup upload',
    'backup delete',
    'backup target',
    'backup copy',
    'backup fetch',
    'checkpoint list',
    'checkpoint delete',
    'git status',
    'git log',
    'git diff',
    'git branches',
    'git fetch',
    'git checkout',
    'git commit',
    'git push',
    'git discard',
    'git remote',
    'git key',
    'git webhook',
    'git deploys',
    'limits show',
    'health show',
    'health try',
    'mail list',
    'mail show',
    'mail save',
    'mail delete',
    'data list',
  ])
})

async function commandOf([first, second]: readonly string[]): Promise<Command | null> {
  const command = first === undefined ? null : await createProgram(world).find(first)
  if (command === null || second === undefined || command.commands.length === 0) return command
  return command.commands.find((each) => each.name() === second) ?? null
}
