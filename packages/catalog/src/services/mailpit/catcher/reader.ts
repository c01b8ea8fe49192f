import { Worker } from 'node:worker_threads'
import { type Digest, digestOf, type Mail, type readAttachment, unreadable } from './read-mail.ts'

export type Question =
  | { readonly about: 'digest'; readonly path: string }
  | { readonly about: 'mail'; readonly path: string }
  | { readonly about: 'attachment'; readonly path: string; readonly index: number }

export type Answer = { readonly result: unknown } | { readonly failed: string }

/** Reads one message after the other. A message that takes too long, or breaks the thread, counts as one that nobody can read. */
export interface Reader {
  digest(path: string): Promise<Digest>
  mail(path: string): Promise<Mail>
  attachment(path: string, index: number): ReturnType<typeof readAttachment>
  close(): Promise<void>
}

export function createReader(deadlineSeconds = 60): Reader {
  let worker: Worker | null = null
  let last: Promise<unknown> = Promise.resolve()

  function inTurn(question: Question): Promise<unknown> {
    const mine = last.then(() => ask(question))
    last = mine.catch(() => {})
    return mine
  }

  async function ask(question: Question): Promise<unknown> {
    const current = worker ?? newWorker()
    worker = current
    const answer = await answered(current, question, deadlineSeconds)
    if ('broken' in answer) {
      worker = null
      await current.terminate()
      throw new Error(answer.broken)
    }
    if ('failed' in answer) throw new Error(answer.failed)
    return answer.result
  }

  function newWorker(): Worker {
    const made = new Worker(new URL('./reader-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    // What one message started may end the thread after its answer. The next must not be asked of a dead one, and blamed.
    made.on('exit', () => {
      if (worker === made) worker = null
    })
    // An error of a thread that nobody waits for must not end the program.
    made.on('error', () => {})
    return made
  }

  const problem = (error: unknown) => `The message could not be read: ${(error as Error).message}`
  return {
    digest: (path) =>
      inTurn({ about: 'digest', path }).then(
        (result) => result as Digest,
        async (error) => digestOf(await unreadable(path, problem(error))),
      ),
    mail: (path) =>
      inTurn({ about: 'mail', path }).then(
        (result) => result as Mail,
        (error) => unreadable(path, problem(error)),
      ),
    attachment: (path, index) => inTurn({ about: 'attachment', path, index }) as ReturnType<typeof readAttachment>,
    close: async () => {
      await worker?.terminate()
    },
  }
}

function answered(worker: Worker, question: Question, seconds: number): Promise<Answer | { readonly broken: string }> {
  return new Promise((resolve) => {
    const done = (answer: Answer | { readonly broken: string }) => {
      clearTimeout(deadline)
      worker.off('message', done).off('error', onError).off('exit', onExit)
      resolve(answer)
    }
    const onError = (error: Error) => done({ broken: error.message })
    const onExit = () => done({ broken: 'it needs more memory than a message may' })
    const deadline = setTimeout(() => done({ broken: `it took longer than ${seconds} seconds` }), seconds * 1000)
    worker.on('message', done).on('error', onError).on('exit', onExit)
    worker.postMessage(question)
  })
}
