import { parentPort } from 'node:worker_threads'
import { digestMail, readAttachment, readMail } from './read-mail.ts'
import type { Answer, Question } from './reader.ts'

/** Reads messages in a thread of its own: what a hostile message costs, in time or in memory, costs this thread alone. */
parentPort?.on('message', async (question: Question) => {
  parentPort?.postMessage(await answer(question))
})

async function answer(question: Question): Promise<Answer> {
  try {
    if (question.about === 'digest') return { result: await digestMail(question.path) }
    if (question.about === 'mail') return { result: await readMail(question.path) }
    return { result: await readAttachment(question.path, question.index) }
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) }
  }
}
