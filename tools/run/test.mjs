import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join, relative } from 'node:path'
import { ensureClientGenerators } from './client-generators.mjs'
import { isCrashTest } from './crash-tests.mjs'
import { clearDockerLabs, ensureDockerImages, isDockerTest } from './docker-lab.mjs'
import { openMemoryFolder } from './memory-folder.mjs'
import { ensurePage } from './page.mjs'
import { childEnv, node, root } from './places.mjs'
import { Refusal } from './refusal.mjs'
import { keepSeconds, phasesOf } from './schedule.mjs'
import { ensureService } from './service.mjs'
import { ensureSystemPackages } from './system-packages.mjs'
import { allTestFiles } from './test-files.mjs'

/** More files than this do not fail because the machine was busy. */
const mostLookedAtAgain = 3
const mostShown = 15

/**
 * `npm test`, or `npm test -- manifest proxy`: files whose path contains one of the words. Words that begin with `-` go to Node,
 * but `--keep-seconds` writes down how long each file took, by which the next run is ordered.
 * Many tests run real programs under load beside each other. When a few files fail, each is run once more with nothing
 * beside it, and the end says which of them passed only then: a fault in the product fails twice. Where a test of kills, crashes or
 * random inputs failed, nothing is run again.
 */
export async function run(args) {
  const words = args.filter((arg) => !arg.startsWith('-'))
  const keeps = args.includes('--keep-seconds')
  const options = args.filter((arg) => arg.startsWith('-') && arg !== '--keep-seconds')
  const files = allTestFiles().filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  if (files.length === 0) throw new Refusal(`No test file matches ${words.map((word) => `"${word}"`).join(' or ')}.`)
  await ensureSystemPackages(files)
  await ensureClientGenerators(files)
  ensureDockerImages(files)
  if (files.some((file) => file.startsWith('apps/server/') || file.startsWith('e2e/'))) await ensurePage()
  if (files.some((file) => file.startsWith('e2e/'))) await ensureService()

  const envOf = environments()
  const first = await runPhases(files, options, envOf)
  const { code, failed } = first
  if (keeps && first.failed !== null) keepSeconds(first.seconds)
  if (files.length > mostShown) console.log(`\n${slowest(first.seconds)}\n\n${timesOf(first.phases)}`)
  if (code === 0 && first.phases.length > 1) console.log(`\n${first.passed} passed, 0 failed`)
  if (code === 0 || failed === null || failed.length === 0 || failed.length > mostLookedAtAgain || files.length === 1)
    process.exit(code)
  const once = failed.flatMap(({ file, titles }) =>
    titles.filter((title) => isCrashTest(title, sourceOf(file))).map((title) => `  ${file}: ${title}`),
  )
  if (once.length > 0) {
    console.log(`\nNot run again, for what fails once there may hide the next time:\n${once.join('\n')}`)
    process.exit(code)
  }

  let passed = first.passed
  for (const { file } of failed) {
    console.log(`\nOnce more, with nothing beside it: ${file}\n`)
    const again = await runFiles([file], 1, options, envOf(file))
    if (again.code !== 0) process.exit(again.code)
    passed += again.passed
  }
  console.log(
    `\nFlaky, passed only with nothing beside it: ${failed.map(({ file }) => file).join(', ')}. Tests of these files may count twice.`,
  )
  console.log(`${passed} passed, 0 failed, ${failed.length} flaky`)
  process.exit(0)
}

/** Where the time goes, for who wants to make the suite faster. */
function slowest(seconds) {
  const files = Object.entries(seconds).sort(([, a], [, b]) => b - a)
  const lines = files
    .slice(0, mostShown)
    .map(([file, value]) => `${value.toFixed(1).padStart(8)} s  ${relative(root, file)}`)
  return `The slowest of ${files.length} files:\n${lines.join('\n')}`
}

/** How long each part of the run took. */
function timesOf(phases) {
  return phases
    .map(({ name, files, concurrency, seconds }) => {
      const what = `${name}: ${files.length} files, ${concurrency} at a time`
      return `${seconds.toFixed(1).padStart(8)} s  ${what}`
    })
    .join('\n')
}

/** Temporary files lie in memory where that can be had. Folders of Docker daemons stay where the next run finds those of an interrupted one. */
function environments() {
  const memory = openMemoryFolder()
  const inMemory = memory === null ? childEnv() : { ...childEnv(), TMPDIR: memory }
  return (file) => (isDockerTest(file) ? childEnv() : inMemory)
}

async function runPhases(files, options, envOf) {
  const all = { code: 0, passed: 0, failed: [], seconds: {}, phases: [] }
  for (const phase of phasesOf(files)) {
    const began = performance.now()
    const { code, passed, failed, seconds } = await runFiles(
      phase.files,
      phase.concurrency,
      options,
      envOf(phase.files[0]),
    )
    all.phases.push({ ...phase, seconds: (performance.now() - began) / 1000 })
    Object.assign(all.seconds, seconds)
    all.code ||= code
    all.passed += passed
    // It did not come to its end: somebody interrupted it.
    if (failed === null) return { ...all, failed: null }
    all.failed.push(...failed)
  }
  return all
}

/** Answers the exit code, how many tests passed, seconds by file, and which tests of which files failed; null when the run did not come to its end. */
async function runFiles(files, concurrency, options, env) {
  const folder = mkdtempSync(join(os.tmpdir(), 'stackquay-test-'))
  const report = join(folder, 'report.json')
  try {
    const plan = join(folder, 'plan.json')
    writeFileSync(plan, JSON.stringify({ files: files.map((file) => join(root, file)), concurrency, options, report }))
    const code = await runNode(env, [join(root, 'tools/run/run-files.mjs'), plan])
    clearDockerLabs(files)
    const { passed, failed, seconds } = read(report)
    const named = failed && Object.entries(failed).map(([file, titles]) => ({ file: relative(root, file), titles }))
    return { code, passed, seconds, failed: named }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function sourceOf(file) {
  return existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''
}

function read(report) {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return { passed: 0, failed: null, seconds: {} }
  }
}

/** Signals are passed on, so that Ctrl-C ends the tests and they end what they started. */
function runNode(env, args) {
  const child = spawn(node, args, { stdio: 'inherit', env, cwd: root })
  const forward = (signal) => child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, forward)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      for (const name of signals) process.off(name, forward)
      resolve(code ?? 128 + (os.constants.signals[signal] ?? 0))
    })
  })
}
