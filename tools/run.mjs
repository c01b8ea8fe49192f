// The one entry of all npm scripts. It runs on whatever Node the machine has (18 or newer), has no dependencies, and hands
// over to the Node of this workspace as soon as that is installed. Plain JavaScript, because an old Node cannot read types.

const commands = {
  start: () => import('./run/start.mjs'),
  dev: () => import('./run/dev.mjs'),
  test: () => import('./run/test.mjs'),
  build: () => import('./run/build.mjs'),
  check: () => import('./run/check.mjs'),
  bench: () => import('./run/bench.mjs'),
  fuzz: () => import('./run/fuzz.mjs'),
  soak: () => import('./run/soak.mjs'),
  rescue: () => import('./run/rescue.mjs'),
  stq: () => import('./run/stq.mjs'),
}

const [name = '', ...args] = process.argv.slice(2)

if (!Object.hasOwn(commands, name)) {
  console.error(`Unknown command "${name}". Known: ${Object.keys(commands).join(', ')}.`)
  process.exit(2)
}

try {
  const { ensureInstalled } = await import('./run/install.mjs')
  await ensureInstalled()
  const command = await commands[name]()
  await command.run(args)
} catch (error) {
  if (error?.name !== 'Refusal') throw error
  console.error(error.message)
  process.exit(error.exitCode)
}
