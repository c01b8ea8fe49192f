import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { childEnv, modules, node, root } from './places.mjs'

/** The service, restarted on every change, and the page from Vite with hot reload. The first to end ends the other. */
export async function run(args) {
  const children = [
    spawn(node, ['--watch', '--watch-preserve-output', join(root, 'apps/server/src/main.ts'), ...args], options(root)),
    spawn(node, [join(modules, 'vite/bin/vite.js'), '--clearScreen', 'false'], options(join(root, 'apps/web'))),
  ]
  const endAll = (signal) => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill(signal)
  }
  process.on('SIGINT', () => endAll('SIGINT'))
  process.on('SIGTERM', () => endAll('SIGTERM'))
  const code = await Promise.race(children.map(exitOf))
  endAll('SIGTERM')
  await Promise.all(children.map(exitOf))
  process.exitCode = code
}

function options(cwd) {
  return { cwd, env: childEnv(), stdio: 'inherit' }
}

function exitOf(child) {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? 1
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}
