import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { childEnv, node } from './places.mjs'

/**
 * Goes on as the workspace's Node with these arguments. Where the system allows it this process is replaced: no second
 * process in memory, signals and exit code are the program's own. Elsewhere a child stands in, with signals passed on.
 */
export function become(args, env = {}) {
  const environment = { ...childEnv(), ...env }
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    process.removeAllListeners('warning')
    process.execve(node, [node, ...args], environment)
  }
  return runInstead(args, environment)
}

function runInstead(args, env) {
  const child = spawn(node, args, { stdio: 'inherit', env })
  const forward = (signal) => child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']
  for (const signal of signals) process.on(signal, forward)
  return new Promise((_resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
  })
}
