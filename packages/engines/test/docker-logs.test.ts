import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { LogLine } from '@stackquay/engine-api'
import { type DockerLab, dockerLab } from '@stackquay/testkit/docker-lab'
import { createDockerLogs, type DockerLogs } from '../src/docker/logs/index.ts'
import { createMessageReader } from '../src/docker/logs/message-reader.ts'
import { logsDir } from '../src/native/home.ts'
import { testDaemon } from './docker-daemon.ts'

const CHILD = fileURLToPath(new URL('./docker-log-child.ts', import.meta.url))
const LIMITS = { maxBytes: 1024 ** 3, maxDays: 14 }
const ref = { project: 'logs', workload: 'printer' }

describe('logs of containers', () => {
  let lab: DockerLab
  before(async () => {
    lab = await dockerLab()
  })
  after(() => lab.close())

  const never = new AbortController().signal

  /** Starts a container in which a shell runs this. */
  const run = (script: string, ...options: string[]) =>
    lab.docker(['run', '-d', '--net', 'none', '--init', ...options, lab.image('debian'), '/bin/sh', '-c', script])

  async function withLogs(act: (logs: DockerLogs, daemon: Awaited<ReturnType<typeof testDaemon>>) => Promise<void>) {
    const daemon = await testDaemon(lab.host)
    const logs = createDockerLogs(daemon, LIMITS)
    try {
      await act(logs, daemon)
    } finally {
      await logs.close()
      await daemon.remove()
    }
  }

  const all = (logs: DockerLogs): Promise<LogLine[]> => Array.fromAsync(logs.logs(ref, {}, never))
  const texts = (lines: readonly LogLine[], stream?: LogLine['stream']) =>
    lines.filter((line) => stream === undefined || line.stream === stream).map((line) => line.text)

  test('every line comes once, in the order of its stream, with the time at which Docker got it', async () => {
    await withLogs(async (logs) => {
      const begun = Date.now()
      const id = await run('for n in 1 2 3; do echo out $n; echo err $n >&2; sleep 0.2; done; printf unfinished')
      await lab.docker(['wait', id])
      const ended = Date.now()
      await new Promise((resolve) => setTimeout(resolve, 1500))
      await logs.started(ref, id)
      await logs.drained(ref, never)
      const lines = await all(logs)
      assert.deepEqual(texts(lines, 'stdout'), ['out 1', 'out 2', 'out 3', 'unfinished'])
      assert.deepEqual(texts(lines, 'stderr'), ['err 1', 'err 2', 'err 3'])
      for (const { time } of lines)
        assert.ok(Date.parse(time) >= begun - 1000 && Date.parse(time) <= ended + 1000, time)
      const until = lines[1]?.time ?? ''
      const early: LogLine[] = await Array.fromAsync(logs.logs(ref, { until }, never))
      assert.deepEqual(texts(early), texts(lines.filter(({ time }) => time <= until)))
      assert.deepEqual(await logs.tail(ref, 1), texts(lines).slice(-1))
      assert.deepEqual(await logs.projects(), ['logs'])
      await logs.removeLogs('logs')
      assert.deepEqual(await logs.projects(), [])
    })
  })

  test('a line that Docker cut into messages is one line again, and bytes arrive as they are', async () => {
    await withLogs(async (logs, daemon) => {
      const long = 'head -c 50000 /dev/zero | tr "\\0" x'
      const id = await run(`${long}; echo; printf 'a\\0b\\377c\\r\\n'; echo; ${long} >&2; echo end >&2`)
      await logs.started(ref, id)
      await logs.drained(ref, never)
      const lines = await all(logs)
      assert.deepEqual(texts(lines, 'stderr'), [`${'x'.repeat(50_000)}end`])
      assert.deepEqual(texts(lines, 'stdout'), ['x'.repeat(50_000), 'a\0b\ufffdc', ''])
      assert.ok((await readdir(logsDir(daemon.home, ref))).length > 0)
    })
  })

  test('a follower gets what comes, and a second run after the first, also of a container that is started again', async () => {
    await withLogs(async (logs) => {
      const abort = new AbortController()
      const seen: string[] = []
      const follower = (async () => {
        for await (const { text } of logs.logs(ref, { follow: true }, abort.signal)) {
          seen.push(text)
          if (text === 'second') abort.abort()
        }
      })()
      const id = await run('if [ -e /ran ]; then echo second; else echo first; touch /ran; fi')
      await logs.started(ref, id)
      await logs.drained(ref, never)
      await lab.docker(['start', id])
      await logs.started(ref, id)
      await logs.drained(ref, never)
      await follower
      assert.deepEqual(seen, ['first', 'second'])
    })
  })

  test('of a container that was made and never started nothing is waited for; what it prints once it is started comes', async () => {
    await withLogs(async (logs) => {
      const id = await lab.docker(['create', '--net', 'none', lab.image('debian'), '/bin/echo', 'late'])
      await logs.adopt([{ ref, id }])
      await logs.drained(ref, AbortSignal.timeout(30_000))
      assert.deepEqual(await all(logs), [])
      await lab.docker(['start', id])
      await logs.started(ref, id)
      await logs.drained(ref, never)
      assert.deepEqual(texts(await all(logs)), ['late'])
    })
  })

  test('two instances over one home store every line once, and the second goes on when the first ends', async () => {
    const daemon = await testDaemon(lab.host)
    const first = createDockerLogs(daemon, LIMITS)
    const second = createDockerLogs(daemon, LIMITS)
    const id = await run('for n in $(seq 1 40); do echo line $n; sleep 0.05; done')
    await first.started(ref, id)
    await second.adopt([{ ref, id }])
    for await (const { text } of second.logs(ref, { follow: true }, never)) if (text === 'line 5') break
    await first.close()
    await second.drained(ref, never)
    assert.deepEqual(
      texts(await all(second)),
      Array.from({ length: 40 }, (_, at) => `line ${at + 1}`),
    )
    await second.close()
    await daemon.remove()
  })

  test('what a job prints stands in the log of its workload, while that runs and when it does not', async () => {
    await withLogs(async (logs) => {
      const before = await logs.jobLog(ref)
      await before.write('stdout', Buffer.from('installing\n'))
      await before.close()
      const id = await run('echo up; while [ ! -e /go ]; do sleep 0.05; done; echo down')
      await logs.started(ref, id)
      for await (const { text } of logs.logs(ref, { follow: true }, never)) if (text === 'up') break
      const during = await logs.jobLog(ref)
      await during.write('stderr', Buffer.from('migrating\n'))
      await during.close()
      await lab.docker(['exec', id, 'touch', '/go'])
      await logs.drained(ref, never)
      assert.deepEqual(texts(await all(logs)), ['installing', 'up', 'migrating', 'down'])
    })
  })

  test('a collector that is killed again and again loses nothing and stores nothing twice', async () => {
    const daemon = await testDaemon(lab.host)
    const home = daemon.home.root
    const count = 200_000
    // Both streams, with pauses, so that it lasts longer than the killing; small log files make Docker rotate.
    const script = `awk 'BEGIN { for (n = 0; n < ${count}; n++) { print "line " n; if (n % 2000 == 0) { print "error " n > "/dev/stderr"; fflush(); system("sleep 0.05") } } }'`
    const id = await run(script, '--log-opt', 'max-size=16m', '--log-opt', 'max-file=4')
    let kills = 0
    const ended = lab.docker(['wait', id]).then(() => true)
    for (let over = false; !over || kills < 4; ) {
      const child = spawn(process.execPath, [CHILD, lab.host, home, id], { stdio: ['ignore', 'pipe', 'inherit'] })
      const gone = once(child, 'exit')
      await once(child.stdout, 'data')
      const pause = (milliseconds: number) =>
        new Promise<false>((resolve) => setTimeout(() => resolve(false), milliseconds))
      over = await Promise.race([ended, pause(300 + 150 * kills)])
      child.kill('SIGKILL')
      await gone
      kills += 1
    }
    assert.ok(kills >= 4, `only ${kills} kills`)
    const logs = createDockerLogs(daemon, LIMITS)
    await logs.adopt([{ ref, id }])
    await logs.drained(ref, never)
    const lines = await all(logs)
    const printed = texts(lines, 'stdout')
    assert.equal(printed.length, count)
    assert.equal(
      printed.findIndex((text, at) => text !== `line ${at}`),
      -1,
    )
    assert.deepEqual(
      texts(lines, 'stderr'),
      Array.from({ length: count / 2000 }, (_, at) => `error ${at * 2000}`),
    )
    assert.ok(
      (await readdir(join(home, 'logs', 'logs', 'printer'))).filter((name) => name.endsWith('.out')).length === 1,
    )
    await logs.close()
    await daemon.remove()
  })

  test('a line that Docker sends again alone is stored once, equal parts of a long line are all stored', () => {
    const frame = (text: string) => {
      const content = Buffer.from(`2026-01-01T00:00:00.000000001Z ${text}`)
      const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])
      header.writeUInt32BE(content.length, 4)
      return Buffer.concat([header, content])
    }
    const stored = (...texts: string[]) => {
      const nothing = { time: '', count: 0, size: 0 }
      const reader = createMessageReader({ stdout: nothing, stderr: nothing }, Date.now)
      for (const text of texts) reader.push(frame(text))
      return reader.take().stdout.bytes.toString()
    }
    assert.equal(stored('a\n', 'a\n', 'b\n'), 'a\nb\n')
    assert.equal(stored('aa', 'aa', 'aa\n'), 'aaaaaa\n')
  })

  test('Docker may rotate its own files while a collector keeps up', async () => {
    await withLogs(async (logs) => {
      const count = 18_000
      const script = `awk 'BEGIN { for (n = 0; n < ${count}; n++) { print "line " n; if (n % 500 == 0) { fflush(); system("sleep 0.05") } } }'`
      const id = await run(script, '--log-opt', 'max-size=500k', '--log-opt', 'max-file=4')
      await logs.started(ref, id)
      await logs.drained(ref, never)
      const printed = texts(await all(logs))
      assert.deepEqual(printed.filter((text, at) => text !== `line ${at}`).slice(0, 3), [])
      assert.equal(printed.length, count)
    })
  })

  test('a daemon that crashes meanwhile costs no line', async () => {
    const own = await dockerLab({ daemonArgs: ['--live-restore'] })
    const daemon = await testDaemon(own.host)
    const logs = createDockerLogs(daemon, LIMITS)
    try {
      const script = 'for n in $(seq 1 60); do echo line $n; sleep 0.05; done'
      const id = await own.docker(['run', '-d', '--net', 'none', own.image('debian'), '/bin/sh', '-c', script])
      await logs.started(ref, id)
      for await (const { text } of logs.logs(ref, { follow: true }, never)) if (text === 'line 5') break
      await own.kill()
      await own.restart()
      await logs.drained(ref, never)
      const printed = texts(await all(logs))
      assert.deepEqual(printed, [...new Set(printed)], 'nothing twice')
      assert.equal(printed.at(-1), 'line 60')
    } finally {
      await logs.close()
      await daemon.remove()
      await own.close()
    }
  })
})
