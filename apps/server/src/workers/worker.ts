import { parentPort } from 'node:worker_threads'
import type { TaskRequest, WorkerAnswer } from './messages.ts'
import { loadTask } from './tasks/index.ts'

/** One task after the other, in a thread that can be ended. What a task throws ends the thread: tasks answer their faults. */
parentPort?.on('message', async ({ task, input }: TaskRequest) => {
  const run = await loadTask(task)
  answer({ kind: 'began' })
  answer({ kind: 'done', output: run(input as never) })
})

function answer(message: WorkerAnswer): void {
  parentPort?.postMessage(message)
}
