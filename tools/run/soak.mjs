import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import { join } from 'node:path'
import { saysCrash } from './crash-tests.mjs'
import { clearDockerLabs, ensureDockerImages } from './docker-lab.mjs'
import { ensurePage } from './page.mjs'
import { childEnv, node, root } from './places.mjs'
import { Refusal } from './refusal.mjs'
import { ensureService } from './service.mjs'
import { runSlowed } from './slowed.mjs'
import { ensureSystemPackages } from './system-packages.mjs'
import { allTestFiles } from './test-files.mjs'

/** Tests that repeat what they do with `rounds`, by the names of their files. */
const repeating =
  /\/(trust-[^/]*|kill|backups|round-trip|docker-kill|docker-foreign|point-in-time|patch-property|native-shared|root-paths|user-files|rabbitmq|docker-data|page|page-[^/]*|docker-page)\.test\.ts$/
const HOUR_MS = 3_600_000

/**
 * `npm run soak`: the tests that repeat themselves, with their full counts, one file after the other. `-- matrix strays`: the files whose
 * path contains one of the words. Ends with a table of what was run how often. `-- slowed [words] [--times=20]`: tests of kills and
 * crashes instead, each so often with all their processes slowed to a fifth.
 */
export async function run(args) {
  if (args[0] === 'slowed') return soakSlowed(args.slice(1))
  return soakRounds(args)
}

async function soakSlowed(args) {
  const times = Number(
    /^--times=(\d{1,4})$/.exec(args.find((arg) => arg.startsWith('--')) ?? '--times=20')?.[1] ?? Number.NaN,
  )
  const words = args.filter((arg) => !arg.startsWith('--'))
  const files = allTestFiles()
    .filter((file) => saysCrash(readFileSync(join(root, file), 'utf8')))
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  if (!(times > 0)) throw new Refusal('--times takes a number, such as --times=20.')
  if (files.length === 0) throw new Refusal(`No test of kills or crashes matches ${words.join(' or ')}.`)
  await ensureSystemPackages(files)
  ensureDockerImages(files)
  await ensurePage()
  await ensureService()
  const log = join(os.tmpdir(), `stackquay-slowed-${process.pid}.log`)
  const rows = await runSlowed(files, times, log)
  clearDockerLabs(files)
  const faults = rows.reduce((sum, row) => sum + row.faults, 0)
  const lines = rows.map(
    ({ file, runs, faults, seconds }) => `| ${file} | ${runs} | ${faults} | ${Math.round(seconds)} s |`,
  )
  console.log(`\n${['| file | runs | faults | time |', '| --- | ---: | ---: | ---: |', ...lines].join('\n')}`)
  console.log(faults === 0 ? '\nNo faults.' : `\n${faults} faults; what was printed stands in ${log}.`)
  process.exitCode = faults === 0 ? 0 : 1
}

async function soakRounds(words) {
  const files = allTestFiles()
    .filter((file) => repeating.test(`/${file}`))
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  if (files.length === 0) throw new Refusal(`No test that repeats itself matches ${words.join(' or ')}.`)
  await ensureSystemPackages(files)
  ensureDockerImages(files)
  await ensurePage()
  await ensureService()
  const folder = await mkdtemp(join(os.tmpdir(), 'stackquay-soak-'))
  try {
    const report = join(folder, 'report.json')
    const code = await runTests(files, report)
    clearDockerLabs(files)
    console.log(`\n${table(JSON.parse(readFileSync(report, 'utf8')))}`)
    process.exitCode = code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function runTests(files, report) {
  const args = [
    '--test',
    '--test-concurrency=1',
    `--test-timeout=${HOUR_MS}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${join(root, 'tools/run/soak-counts.mjs')}`,
    `--test-reporter-destination=${report}`,
    ...files,
  ]
  const env = { ...childEnv(), STACKQUAY_SOAK: '1' }
  const child = spawn(node, args, { stdio: 'inherit', env, cwd: root })
  const forward = (signal) => child.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + (os.constants.signals[signal] ?? 0)))
  })
}

/** In Markdown: it goes into the notes of a release as it is. */
function table({ tests }) {
  const rows = tests.map(({ file, name, passed, seconds, said }) => [
    file,
    name,
    said.join('; '),
    passed ? 'passed' : 'FAILED',
    `${Math.round(seconds)} s`,
  ])
  const failed = rows.filter((row) => row[3] !== 'passed').length
  const lines = [['file', 'what', 'counts', 'result', 'time'], ['---', '---', '---', '---', '---:'], ...rows]
  return `${lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')}\n
${rows.length - failed} passed, ${failed} failed`
}
