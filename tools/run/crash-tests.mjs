/**
 * Tests of what holds at every moment: of kills and crashes, and over random inputs. What fails there once is a fault that the next run
 * may not meet again, so they are never run a second time.
 */
export function isCrashTest(title, source) {
  return /\b(kill(s|ed)?|crash(es|ed)?)\b/i.test(title) || /from '@stackquay\/testkit\/(random|rounds)'/.test(source)
}
