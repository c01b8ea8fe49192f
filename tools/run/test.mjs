import os from 'node:os'
import { become } from './become.mjs'
import { ensurePage } from './page.mjs'
import { root } from './places.mjs'
import { Refusal } from './refusal.mjs'
import { ensureSystemPackages } from './system-packages.mjs'
import { allTestFiles } from './test-files.mjs'

/** `npm test`, or `npm test -- manifest proxy`: files whose path contains one of the words. Words that begin with `-` go to Node. */
export async function run(args) {
  const words = args.filter((arg) => !arg.startsWith('-'))
  const options = args.filter((arg) => arg.startsWith('-'))
  const files = allTestFiles().filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  if (files.length === 0) throw new Refusal(`No test file matches ${words.map((word) => `"${word}"`).join(' or ')}.`)
  await ensureSystemPackages(files)
  if (files.some((file) => file.startsWith('apps/server/') || file.startsWith('e2e/'))) await ensurePage()
  process.chdir(root)
  await become([
    '--test',
    `--test-concurrency=${Math.max(2, os.cpus().length - 1)}`,
    '--test-timeout=300000',
    '--test-reporter=spec',
    ...options,
    ...files,
  ])
}
